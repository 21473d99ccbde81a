import { createTransport } from 'nodemailer'
import type { Log } from '../../shared/log.ts'

export interface MailMessage {
  /** One address, without a name. */
  to: string
  subject: string
  text: string
}

export interface Mail {
  /** Whether this installation can send mail at all. */
  readonly configured: boolean
  /** Resolves when the mail server has taken it. @throws when it has not, or none is configured. */
  send(message: MailMessage): Promise<void>
  /** Waits a moment for those under way. */
  stop(): Promise<void>
}

interface Options {
  /** `smtp://` or `smtps://`; absent: no mail. */
  smtpUrl: string | undefined
  /** An address, or `Name <address>`. */
  from: string | undefined
  log: Log
}

/** A mail server that does not answer must not hold up whoever waits for the mail. */
const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 }
/** Longest wait at a stop, in milliseconds. */
const STOP_MS = 3000

const NO_MAIL: Mail = {
  configured: false,
  send: async () => {
    throw new Error('SMTP_URL is not set')
  },
  stop: async () => undefined
}

/** A password goes over the network only encrypted, whatever the server offers. */
function mustEncrypt(smtpUrl: string): boolean {
  const { username, hostname } = new URL(smtpUrl)
  return username !== '' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}

async function settleWithin(work: Iterable<Promise<unknown>>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([Promise.allSettled(work), deadline])
  clearTimeout(timer)
}

/** Sends plain mail by SMTP, one connection each: mails are rare. Nothing is kept for later. */
export function createMail({ smtpUrl, from, log }: Options): Mail {
  if (smtpUrl === undefined || from === undefined) return NO_MAIL
  const transport = createTransport({
    url: smtpUrl,
    ...TIMEOUTS,
    requireTLS: mustEncrypt(smtpUrl),
    disableFileAccess: true,
    disableUrlAccess: true
  })
  const underWay = new Set<Promise<unknown>>()
  return {
    configured: true,
    send: async ({ to, subject, text }) => {
      // As an object an address is not parsed: a comma in it does not make two recipients.
      const sending = transport.sendMail({ from, to: { name: '', address: to }, subject, text })
      underWay.add(sending)
      try {
        await sending
      } catch (error) {
        log.warn({ err: error }, 'a mail could not be sent')
        throw error
      } finally {
        underWay.delete(sending)
      }
    },
    stop: async () => {
      await settleWithin(underWay, STOP_MS)
      transport.close()
    }
  }
}
