import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { PASSWORD, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { mailboxFor } from '../support/mailbox.ts'

const stores = await openStores(t)
const addresses = { appUrl: 'https://app.example.com' }
const ask = (email: string) => ({ email, role: 'member' })

t.test('with SMTP the link goes to the invited person alone', async (t) => {
  const mailbox = await mailboxFor(t)
  const api = await apiFor(t, stores, { addresses, smtpUrl: mailbox.url })
  const alice = await signUp(api, 'Alice')
  const path = '/v1/team/invitations'
  const { status, body } = await api.call('POST', path, { as: alice.jwt, json: ask('bob@example.com') })
  t.equal(status, 201)
  t.notOk('url' in (body as object))
  t.notMatch(JSON.stringify(body), /pgi_/)
  const { subject, text, to } = await mailbox.mailTo('bob@example.com')
  t.same(to, ['bob@example.com'])
  t.equal(subject, "Join Alice's on Pulsegate")
  t.match(text, /^Alice invites you to join Alice's on Pulsegate as member\./)
  const token = /https:\/\/app\.example\.com\/invitations\/(pgi_\w{43})\n/.exec(text)?.[1] ?? ''
  const json = { name: 'Bob', password: PASSWORD }
  t.equal((await api.call('POST', `/v1/invitations/${token}/accept`, { json })).status, 200)
})

t.test('a line break in a name starts no line of the letter', async (t) => {
  const mailbox = await mailboxFor(t)
  const api = await apiFor(t, stores, { smtpUrl: mailbox.url })
  const charlie = await signUp(api, 'Charlie')
  const json = { name: 'Shop\r\nBcc: zoe@example.com\r\n\r\nYou have won' }
  await api.call('PATCH', '/v1/organization', { as: charlie.jwt, json })
  await api.call('POST', '/v1/team/invitations', { as: charlie.jwt, json: ask('bob@example.com') })
  const { subject, to, text } = await mailbox.mailTo('bob@example.com')
  t.same(to, ['bob@example.com'])
  t.equal(subject, 'Join Shop Bcc: zoe@example.com You have won on Pulsegate')
  t.notMatch(text, /^(Bcc|You have won)/m)
})

t.test('when the mail cannot be sent the admin gets the link', async (t) => {
  // Port 1 of the loopback: nobody listens there.
  const api = await apiFor(t, stores, { addresses, smtpUrl: 'smtp://127.0.0.1:1' })
  const zoe = await signUp(api, 'Zoe')
  const { status, body } = await api.call('POST', '/v1/team/invitations', {
    as: zoe.jwt,
    json: ask('bob@example.com')
  })
  t.equal(status, 201)
  t.match(body, { url: /^https:\/\/app\.example\.com\/invitations\/pgi_/ })
})
