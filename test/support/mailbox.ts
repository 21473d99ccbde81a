import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import type { TearsDown } from './database.ts'
import { waitFor } from './wait-for.ts'

/** A mail as it arrived, decoded as far as our own plain mails need it. */
export interface ReceivedMail {
  from: string
  to: string[]
  subject: string
  text: string
}

export interface Mailbox {
  /** For SMTP_URL. */
  url: string
  received: readonly ReceivedMail[]
  /** The newest mail to this address, as soon as there are `count` of them. */
  mailTo(address: string, count?: number): Promise<ReceivedMail>
}

/** Quoted-printable (RFC 2045 §6.7), the only encoding that our mails use besides none. */
function decodeQuoted(text: string): string {
  const joined = text.replaceAll(/=\r?\n/g, '')
  const bytes = joined.replaceAll(/=([0-9A-F]{2})/g, (_whole, hex: string) => String.fromCharCode(Number(`0x${hex}`)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

function read(raw: string): Pick<ReceivedMail, 'subject' | 'text'> {
  const [head = '', ...rest] = raw.split('\r\n\r\n')
  const headers = head.replaceAll(/\r\n[ \t]+/g, ' ')
  const body = rest.join('\r\n\r\n')
  const quoted = /^content-transfer-encoding: quoted-printable$/im.test(headers)
  return {
    subject: /^subject: (.*)$/im.exec(headers)?.[1] ?? '',
    text: (quoted ? decodeQuoted(body) : body).replaceAll('\r\n', '\n').trim()
  }
}

/** A mail server on loopback that takes everything. */
export async function mailboxFor(t: TearsDown): Promise<Mailbox> {
  const received: ReceivedMail[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    onData: (stream, session, done) => {
      let raw = ''
      stream.setEncoding('utf8').on('data', (part: string) => {
        raw += part
      })
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        const from = mailFrom === false ? '' : mailFrom.address
        received.push({ from, to: rcptTo.map(({ address }) => address), ...read(raw) })
        done()
      })
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const { port } = server.server.address() as AddressInfo
  const mailsTo = (address: string) => received.filter(({ to }) => to.includes(address))
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    mailTo: async (address, count = 1) => {
      await waitFor(() => mailsTo(address).length >= count)
      return mailsTo(address).at(-1) as ReceivedMail
    }
  }
}
