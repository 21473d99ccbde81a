import { t } from 'tap'
import { createMail } from '../../api/mail/mail.ts'
import { createLog } from '../../shared/log.ts'
import { captureLog } from '../support/captured-log.ts'
import { mailboxFor } from '../support/mailbox.ts'

const FROM = 'Pulsegate <pulsegate@example.com>'
const log = createLog('test', 'fatal')

t.test('a mail arrives as it was written', async (t) => {
  const mailbox = await mailboxFor(t)
  const mail = createMail({ smtpUrl: mailbox.url, from: FROM, log })
  t.equal(mail.configured, true)
  const text = `Good day Zoë,\n\nhttps://localhost:8443/x?token=${'a1='.repeat(40)}`
  await mail.send({ to: 'alice@example.com', subject: 'Reset your password', text })
  t.same(mailbox.received, [
    { from: 'pulsegate@example.com', to: ['alice@example.com'], subject: 'Reset your password', text }
  ])
  await mail.stop()
})

t.test('nothing that a person wrote adds a recipient', async (t) => {
  const mailbox = await mailboxFor(t)
  const mail = createMail({ smtpUrl: mailbox.url, from: FROM, log })
  await mail.send({ to: 'alice@example.com', subject: 'a\r\nBcc: charlie@example.com', text: 'x' })
  await t.rejects(mail.send({ to: 'alice@example.com,bob@example.com', subject: 'x', text: 'x' }))
  t.same(
    mailbox.received.map((one) => one.to),
    [['alice@example.com']]
  )
  await mail.stop()
})

t.test('a mail server that is away is told to the sender and to the log, without the password', async (t) => {
  const captured = captureLog()
  const mail = createMail({ smtpUrl: 'smtp://alice:hunter22222@127.0.0.1:1', from: FROM, log: captured.log })
  await t.rejects(mail.send({ to: 'alice@example.com', subject: 'x', text: 'x' }), /ECONNREFUSED/)
  t.match(captured.text(), /a mail could not be sent/)
  t.notMatch(captured.text(), /hunter22222/)
  await mail.stop()
})

t.test('without a mail server nothing is sent', async (t) => {
  const mail = createMail({ smtpUrl: undefined, from: undefined, log })
  t.equal(mail.configured, false)
  await t.rejects(mail.send({ to: 'alice@example.com', subject: 'x', text: 'x' }), /SMTP_URL is not set/)
  await mail.stop()
})
