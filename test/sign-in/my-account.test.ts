import { t } from 'tap'
import type { OwnSessionAnswer } from '../../shared/contract/account.ts'
import { apiFor } from '../support/api.ts'
import { auditOf } from '../support/audit-trail.ts'
import { openBrowser } from '../support/browser.ts'
import { PASSWORD, type Person, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'

const NEW_PASSWORD = 'ten lamps, and a garden'

const stores = await openStores(t)
let ahead = 0
const api = await apiFor(t, stores, {
  clock: () => Date.now() + ahead,
  rateLimitScale: 100,
  signInPoints: { account: 100, address: 1000 }
})
t.afterEach(() => {
  ahead = 0
})

const logIn = ({ email }: Person, password: string) => api.call('POST', '/v1/auth/login', { json: { email, password } })

async function sessionsOf(jwt: string, query = ''): Promise<OwnSessionAnswer[]> {
  const { body } = await api.call('GET', `/v1/me/sessions${query}`, { as: jwt })
  return (body as { data: OwnSessionAnswer[] }).data
}

t.test('a person changes their name, in the trail too', async (t) => {
  const dora = await signUp(api, 'Dora')
  const changed = await api.call('PATCH', '/v1/me', { as: dora.jwt, json: { name: 'Dora D.' } })
  t.match({ status: changed.status, body: changed.body }, { status: 200, body: { user: { name: 'Dora D.' } } })
  t.match((await api.call('GET', '/v1/me', { as: dora.jwt })).body, { user: { name: 'Dora D.', email: dora.email } })
  const [line] = await auditOf(stores, 'account.changed')
  t.match(line, { actor_id: dora.id, details: { name: { from: 'Dora', to: 'Dora D.' } } })
})

t.test('a new password takes the place of the old one and ends every other session', async (t) => {
  const alice = await signUp(api, 'Alice')
  const [here, there] = [openBrowser(api), openBrowser(api)]
  for (const browser of [here, there]) await browser.signIn(alice.email)
  const json = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD }
  t.equal((await here.call('POST', '/v1/me/password', { json })).status, 204)
  t.equal((await here.call('GET', '/v1/me')).status, 200)
  expectProblem(t, await there.call('GET', '/v1/me'), 401, 'unauthorized')
  expectProblem(t, await logIn(alice, PASSWORD), 401, 'invalid_credentials')
  t.equal((await logIn(alice, NEW_PASSWORD)).status, 200)
  const [line] = await auditOf(stores, 'password.changed')
  // That of the sign-up, and that of the other browser.
  t.match(line, { actor_id: alice.id, organization_id: alice.organizationId, details: { sessionsEnded: 2 } })
})

t.test('a password is changed only by who knows it, and to a good one', async (t) => {
  const bob = await signUp(api, 'Bob')
  const change = (currentPassword: string, newPassword: string) =>
    api.call('POST', '/v1/me/password', { as: bob.jwt, json: { currentPassword, newPassword } })
  expectProblem(t, await change('wrong', NEW_PASSWORD), 401, 'invalid_credentials')
  t.same(faultsOf(expectProblem(t, await change(PASSWORD, 'short'), 422, 'password_too_short')), [
    '/newPassword password_too_short'
  ])
  await stores.db.query('update users set password_hash = null where id = $1', [bob.id])
  expectProblem(t, await change(PASSWORD, NEW_PASSWORD), 401, 'invalid_credentials')
})

t.test('of two changes of a password at once one is late', async (t) => {
  const erin = await signUp(api, 'Erin')
  const change = (newPassword: string) =>
    api.call('POST', '/v1/me/password', { as: erin.jwt, json: { currentPassword: PASSWORD, newPassword } })
  const answers = await Promise.all([change(`${NEW_PASSWORD} one`), change(`${NEW_PASSWORD} two`)])
  t.same(answers.map(({ status }) => status).sort(), [204, 401])
  const winner = answers[0]?.status === 204 ? 'one' : 'two'
  t.equal((await logIn(erin, `${NEW_PASSWORD} ${winner}`)).status, 200)
})

t.test('the password cannot be guessed by its change either', async (t) => {
  const strict = await apiFor(t, stores, { signInPoints: { account: 2, address: 100 } })
  const frank = await signUp(strict, 'Frank')
  const json = { currentPassword: 'wrong', newPassword: NEW_PASSWORD }
  const statuses: number[] = []
  for (let i = 0; i < 3; i++) {
    statuses.push((await strict.call('POST', '/v1/me/password', { as: frank.jwt, json })).status)
  }
  t.same(statuses, [401, 401, 429])
})

t.test('a person sees the open sessions of their own, newest first, page by page', async (t) => {
  const grace = await signUp(api, 'Grace')
  const browser = openBrowser(api)
  const headers = { 'user-agent': 'Firefox' }
  await browser.call('POST', '/v1/auth/login', { json: { email: grace.email, password: PASSWORD }, headers })
  const [signedIn, signedUp, ...more] = await sessionsOf(grace.jwt)
  t.same(more, [])
  t.match(signedIn, { method: 'password', userAgent: 'Firefox', address: /127\.0\.0\.1|::1/, current: false })
  t.match(signedUp, { current: true, organization: { id: grace.organizationId, name: "Grace's" } })
  t.notMatch(JSON.stringify(signedIn), /digest|cookie/)
  t.same(
    (await sessionsOf(grace.jwt, '?limit=1')).map(({ id }) => id),
    [signedIn?.id]
  )
  ahead = 15 * 86_400_000
  const later = (await logIn(grace, PASSWORD)).body as { jwt: string }
  t.equal((await sessionsOf(later.jwt)).length, 1, 'those that nobody used are over')
})

t.test('a person ends one of their sessions, or all others', async (t) => {
  const heidi = await signUp(api, 'Heidi')
  const ivan = await signUp(api, 'Ivan')
  const browsers = [openBrowser(api), openBrowser(api), openBrowser(api)] as const
  for (const browser of browsers) await browser.signIn(heidi.email)
  const [, second] = await sessionsOf(heidi.jwt)
  const end = (jwt: string) => api.call('DELETE', `/v1/me/sessions/${second?.id}`, { as: jwt })
  expectProblem(t, await end(ivan.jwt), 404, 'not_found')
  t.equal((await end(heidi.jwt)).status, 204)
  expectProblem(t, await end(heidi.jwt), 404, 'not_found')
  const statuses = async () => Promise.all(browsers.map(async (one) => (await one.call('GET', '/v1/me')).status))
  t.same(await statuses(), [200, 401, 200])
  t.equal((await browsers[0].call('DELETE', '/v1/me/sessions')).status, 204)
  t.same(await statuses(), [200, 401, 401])
  t.equal((await api.call('GET', '/v1/me', { as: heidi.jwt })).status, 200, 'a JWT runs out by itself')
})
