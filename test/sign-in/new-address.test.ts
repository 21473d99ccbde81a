import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { auditOf } from '../support/audit-trail.ts'
import { openBrowser } from '../support/browser.ts'
import { PASSWORD, type Person, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { mailboxFor } from '../support/mailbox.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'

const stores = await openStores(t)
const mailbox = await mailboxFor(t)
let ahead = 0
const api = await apiFor(t, stores, {
  clock: () => Date.now() + ahead,
  rateLimitScale: 100,
  signInPoints: { account: 100, address: 1000 },
  smtpUrl: mailbox.url,
  addresses: { appUrl: 'https://app.example.com' }
})
t.afterEach(() => {
  ahead = 0
})

const ask = (person: Person, email: string) => api.call('POST', '/v1/me/email', { as: person.jwt, json: { email } })
const confirm = (token: string) => api.call('POST', '/v1/auth/email/confirm', { json: { token } })
const logIn = (email: string) => api.call('POST', '/v1/auth/login', { json: { email, password: PASSWORD } })

/** Asks for the `count`-th mail to this address and takes the token out of its link. */
async function tokenFor(person: Person, email: string, count = 1): Promise<string> {
  await ask(person, email)
  const { text } = await mailbox.mailTo(email, count)
  return /https:\/\/app\.example\.com\/confirm-email#(pge_[0-9A-Za-z]{43})/.exec(text)?.[1] ?? ''
}

t.test('a new address counts when the link in the mail to it was opened, and the old one is told', async (t) => {
  const alice = await signUp(api, 'Alice')
  t.equal((await ask(alice, ' Alice.New@Example.com ')).status, 202)
  const { text } = await mailbox.mailTo('alice.new@example.com')
  t.match((await mailbox.mailTo(alice.email)).text, /alice\.new@example\.com[\s\S]*\/forgot-password/)
  t.equal((await logIn(alice.email)).status, 200, 'until then nothing changes')
  const token = /pge_\w+/.exec(text)?.[0] ?? ''
  t.equal((await confirm(token)).status, 204)
  t.match((await logIn('alice.new@example.com')).body, { user: { id: alice.id, email: 'alice.new@example.com' } })
  expectProblem(t, await logIn(alice.email), 401, 'invalid_credentials')
  t.match((await mailbox.mailTo(alice.email, 2)).subject, /has changed/)
  expectProblem(t, await confirm(token), 422, 'reset_invalid')
  t.match(await auditOf(stores, 'account.email_change_asked'), [{ actor_id: alice.id }])
  const [line] = await auditOf(stores, 'account.changed')
  t.match(line, { actor_id: alice.id, details: { email: { from: alice.email, to: 'alice.new@example.com' } } })
})

t.test('the database does not hold the link', async (t) => {
  const bob = await signUp(api, 'Bob')
  const token = await tokenFor(bob, 'bob.new@example.com')
  const rows = await stores.db.query('select * from email_changes where user_id = $1', [bob.id])
  t.equal(rows.length, 1)
  t.notMatch(JSON.stringify(rows), token)
})

t.test('a link is good for an hour, and only the last one', async (t) => {
  const charlie = await signUp(api, 'Charlie')
  const first = await tokenFor(charlie, 'first@example.com')
  const second = await tokenFor(charlie, 'second@example.com')
  expectProblem(t, await confirm(first), 422, 'reset_invalid')
  ahead = 3_600_000
  for (const token of [second, 'pge_unknown', '']) {
    expectProblem(t, await confirm(token), 422, 'reset_invalid')
  }
  ahead = 0
  const both = await Promise.all([confirm(second), confirm(second)])
  t.same(both.map(({ status }) => status).sort(), [204, 422], 'of two uses at once one wins')
})

t.test('an address that has an account is not taken, not even in between', async (t) => {
  const [dora, erin] = [await signUp(api, 'Dora'), await signUp(api, 'Erin')]
  expectProblem(t, await ask(dora, 'ERIN@example.com'), 409, 'email_in_use')
  expectProblem(t, await ask(dora, dora.email), 409, 'email_in_use')
  const [hers, his] = [await tokenFor(dora, 'both@example.com'), await tokenFor(erin, 'both@example.com', 2)]
  t.equal((await confirm(hers)).status, 204)
  expectProblem(t, await confirm(his), 409, 'email_in_use')
  t.equal((await logIn(erin.email)).status, 200)
})

t.test('a new password stops what was asked for before it', async (t) => {
  const [frank, grace] = [await signUp(api, 'Frank'), await signUp(api, 'Grace')]
  const [his, hers] = [await tokenFor(frank, 'frank.new@example.com'), await tokenFor(grace, 'grace.new@example.com')]
  const json = { currentPassword: PASSWORD, newPassword: 'ten lamps, and a garden' }
  t.equal((await api.call('POST', '/v1/me/password', { as: frank.jwt, json })).status, 204)
  await api.call('POST', '/v1/auth/password/forgot', { json: { email: grace.email } })
  const { text } = await mailbox.mailTo(grace.email, 2)
  const reset = { token: /pgf_\w+/.exec(text)?.[0], password: 'ten lamps, and a garden' }
  t.equal((await api.call('POST', '/v1/auth/password/reset', { json: reset })).status, 204)
  for (const token of [his, hers]) expectProblem(t, await confirm(token), 422, 'reset_invalid')
  expectProblem(t, await ask(grace, 'grace.again@example.com'), 401, 'unauthorized')
})

t.test('links to the old mailbox set no password any more', async (t) => {
  const heidi = await signUp(api, 'Heidi')
  await api.call('POST', '/v1/auth/password/forgot', { json: { email: heidi.email } })
  const { text } = await mailbox.mailTo(heidi.email)
  t.equal((await confirm(await tokenFor(heidi, 'heidi.new@example.com'))).status, 204)
  const json = { token: /pgf_\w+/.exec(text)?.[0], password: 'ten lamps, and a garden' }
  expectProblem(t, await api.call('POST', '/v1/auth/password/reset', { json }), 422, 'reset_invalid')
})

t.test('only who has just signed in asks, by no word that is no address, and not without end', async (t) => {
  const ivan = await signUp(api, 'Ivan')
  t.same(faultsOf(expectProblem(t, await ask(ivan, 'no address'), 422, 'validation_failed')), ['/email invalid_value'])
  const browser = openBrowser(api)
  await browser.signIn(ivan.email)
  ahead = 11 * 60_000
  expectProblem(t, await ask(ivan, 'ivan.new@example.com'), 403, 'reauthentication_required')
  const json = { email: 'ivan.new@example.com' }
  const headers = { origin: 'https://app.example.com' }
  expectProblem(t, await browser.call('POST', '/v1/me/email', { json, headers }), 403, 'reauthentication_required')
  ahead = 0
  const strict = await apiFor(t, stores, { smtpUrl: mailbox.url })
  const { jwt } = await signUp(strict, 'Judy')
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) {
    const { status } = await strict.call('POST', '/v1/me/email', { as: jwt, json: { email: `judy${i}@example.com` } })
    statuses.push(status)
  }
  t.same(statuses, [202, 202, 202, 202, 202, 429])
})

t.test('where no mail is sent the address stays', async (t) => {
  const silent = await apiFor(t, stores)
  const { jwt } = await signUp(silent, 'Kate')
  const json = { email: 'kate.new@example.com' }
  expectProblem(t, await silent.call('POST', '/v1/me/email', { as: jwt, json }), 409, 'mail_not_configured')
})
