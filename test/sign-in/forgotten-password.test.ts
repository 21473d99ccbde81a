import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { auditOf } from '../support/audit-trail.ts'
import { openBrowser } from '../support/browser.ts'
import { PASSWORD, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { mailboxFor } from '../support/mailbox.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'

const NEW_PASSWORD = 'ten lamps, and a garden'

const stores = await openStores(t)
const mailbox = await mailboxFor(t)
let ahead = 0
const api = await apiFor(t, stores, {
  clock: () => Date.now() + ahead,
  rateLimitScale: 100,
  signInPoints: { account: 3, address: 1000 },
  smtpUrl: mailbox.url,
  addresses: { appUrl: 'https://app.example.com' }
})
t.afterEach(() => {
  ahead = 0
})

const forget = (email: string) => api.call('POST', '/v1/auth/password/forgot', { json: { email } })
const reset = (token: string, password = NEW_PASSWORD) =>
  api.call('POST', '/v1/auth/password/reset', { json: { token, password } })
const logIn = (email: string, password: string) => api.call('POST', '/v1/auth/login', { json: { email, password } })

/** Asks for the `count`-th mail and takes the token out of its link. */
async function tokenFor(email: string, count = 1): Promise<string> {
  await forget(email)
  const { text } = await mailbox.mailTo(email, count)
  return /https:\/\/app\.example\.com\/reset-password#(pgf_[0-9A-Za-z]{43})/.exec(text)?.[1] ?? ''
}

t.test('a forgotten password is replaced by the link in a mail, which signs out everywhere', async (t) => {
  const alice = await signUp(api, 'Alice')
  const browser = openBrowser(api)
  await browser.signIn(alice.email)
  for (let i = 0; i < 3; i++) await logIn(alice.email, 'wrong')
  expectProblem(t, await logIn(alice.email, PASSWORD), 429, 'rate_limited')
  const token = await tokenFor(alice.email)
  t.equal((await reset(token)).status, 204)
  expectProblem(t, await browser.call('GET', '/v1/me'), 401, 'unauthorized')
  t.equal((await logIn(alice.email, NEW_PASSWORD)).status, 200, 'and nobody has to wait for the failures before')
  expectProblem(t, await logIn(alice.email, PASSWORD), 401, 'invalid_credentials')
  for (const action of ['password.reset_asked', 'password.reset']) {
    t.match((await auditOf(stores, action))[0], { actor_id: alice.id, organization_id: alice.organizationId }, action)
  }
})

t.test('a known and an unknown account get the same answer', async (t) => {
  const bob = await signUp(api, 'Bob')
  const answers = [await forget(bob.email), await forget('nobody@example.com'), await forget('no address')]
  for (const { status, body } of answers) t.match({ status, body }, { status: 202, body: '' })
  await mailbox.mailTo(bob.email)
  t.notOk(mailbox.received.some(({ to }) => to.includes('nobody@example.com')))
})

t.test('a link works once, within an hour, for one of two who use it at once', async (t) => {
  const carol = await signUp(api, 'Carol')
  const [first, second] = [await tokenFor(carol.email), await tokenFor(carol.email, 2)]
  t.not(first, second)
  const answers = await Promise.all([reset(first), reset(first)])
  t.same(answers.map(({ status }) => status).sort(), [204, 422])
  expectProblem(t, await reset(second), 422, 'reset_invalid')
  const third = await tokenFor(carol.email, 3)
  ahead = 3_600_000
  expectProblem(t, await reset(third), 422, 'reset_invalid')
  expectProblem(t, await reset('pgf_unknown'), 422, 'reset_invalid')
})

t.test('a bad new password leaves the link good', async (t) => {
  const dora = await signUp(api, 'Dora')
  const token = await tokenFor(dora.email)
  const refused = expectProblem(t, await reset(token, 'short'), 422, 'password_too_short')
  t.same(faultsOf(refused), ['/password password_too_short'])
  t.equal((await reset(token)).status, 204)
})

t.test('a link is void once the password was changed otherwise', async (t) => {
  const erin = await signUp(api, 'Erin')
  const token = await tokenFor(erin.email)
  const json = { currentPassword: PASSWORD, newPassword: `${NEW_PASSWORD}!` }
  t.equal((await api.call('POST', '/v1/me/password', { as: erin.jwt, json })).status, 204)
  expectProblem(t, await reset(token), 422, 'reset_invalid')
})

t.test('who has no password is told so, and gets none', async (t) => {
  const frank = await signUp(api, 'Frank')
  await stores.db.query('update users set password_hash = null where id = $1', [frank.id])
  t.equal(await tokenFor(frank.email), '')
  t.match((await mailbox.mailTo(frank.email)).text, /It has none: sign in with Microsoft or Google/)
})

t.test('a mailbox is not filled: five mails in an hour', async (t) => {
  const grace = await signUp(api, 'Grace')
  for (let count = 1; count <= 5; count++) await tokenFor(grace.email, count)
  for (let i = 0; i < 3; i++) await forget(grace.email)
  // The mail to Heidi is asked for later, so those to Grace would be there.
  const heidi = await signUp(api, 'Heidi')
  await tokenFor(heidi.email)
  t.equal(mailbox.received.filter(({ to }) => to.includes(grace.email)).length, 5)
})

t.test('the token is stored as a digest only', async (t) => {
  const ivan = await signUp(api, 'Ivan')
  const token = await tokenFor(ivan.email)
  const rows = await stores.db.query('select digest from password_resets where user_id = $1', [ivan.id])
  t.same(rows, [{ digest: stores.secrets.digest(token) }])
})

t.test('without a mail server the answer is the same', async (t) => {
  const bare = await apiFor(t, stores)
  t.match((await bare.call('GET', '/v1/auth/methods')).body, { passwordReset: false })
  t.match((await api.call('GET', '/v1/auth/methods')).body, { passwordReset: true })
  const answer = await bare.call('POST', '/v1/auth/password/forgot', { json: { email: 'alice@example.com' } })
  t.match({ status: answer.status, body: answer.body }, { status: 202, body: '' })
})
