import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { auditOf } from '../support/audit-trail.ts'
import { PASSWORD, type Person, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'

const DAY = 86_400_000

interface Remembered {
  jwt: string
  refreshToken: string
}

const stores = await openStores(t)
let ahead = 0
const api = await apiFor(t, stores, { clock: () => Date.now() + ahead, rateLimitScale: 100 })
const alice = await signUp(api, 'Alice')
t.afterEach(() => {
  ahead = 0
})

const refresh = (refreshToken: string, headers: Record<string, string> = {}) =>
  api.call('POST', '/v1/auth/refresh', { json: { refreshToken }, headers })
const me = (jwt: string) => api.call('GET', '/v1/me', { as: jwt })

async function remembered(person: Person = alice): Promise<Remembered> {
  const json = { email: person.email, password: PASSWORD, remember: true }
  return (await api.call('POST', '/v1/auth/login', { json })).body as Remembered
}

async function refreshed(refreshToken: string): Promise<Remembered> {
  return (await refresh(refreshToken)).body as Remembered
}

t.test('only who asks to be remembered gets a refresh token', async (t) => {
  const answer = await api.call('POST', '/v1/auth/login', { json: { email: alice.email, password: PASSWORD } })
  t.notOk('refreshToken' in (answer.body as object))
  t.match((await remembered()).refreshToken, /^pgr_[0-9A-Za-z]{43}$/)
})

t.test('a refresh token gives a JWT and the next refresh token', async (t) => {
  const first = await remembered()
  const answer = await refresh(first.refreshToken)
  t.equal(answer.status, 200)
  t.match(answer.body, { jwt: /^eyJ/, tokenType: 'Bearer', expiresIn: 86_400, refreshToken: /^pgr_/ })
  t.equal(answer.headers.get('cache-control'), 'no-store')
  const { jwt, refreshToken } = answer.body as Remembered
  t.not(refreshToken, first.refreshToken)
  t.equal((await me(jwt)).status, 200)
  t.equal((await refresh(refreshToken)).status, 200)
})

t.test('a client that lost the answer may ask again within ten seconds', async (t) => {
  const { refreshToken } = await remembered()
  const answers = await Promise.all(Array.from({ length: 4 }, () => refresh(refreshToken)))
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200, 200]
  )
  for (const { body } of answers) t.equal((await refresh((body as Remembered).refreshToken)).status, 200)
})

t.test('nobody else may ask again, not even within ten seconds', async (t) => {
  const client = { 'user-agent': 'backup/1.0', 'x-forwarded-for': '198.51.100.7' }
  for (const thief of [
    { ...client, 'x-forwarded-for': '203.0.113.9' },
    { ...client, 'user-agent': 'curl/8' }
  ]) {
    const { refreshToken } = await remembered()
    const next = (await refresh(refreshToken, client)).body as Remembered
    t.equal((await refresh(refreshToken, client)).status, 200)
    expectProblem(t, await refresh(refreshToken, thief), 401, 'unauthorized')
    expectProblem(t, await refresh(next.refreshToken, client), 401, 'unauthorized')
  }
})

t.test('a refresh token that comes again later ends its whole family, but no JWT', async (t) => {
  const stolen = await remembered()
  const next = await refreshed(stolen.refreshToken)
  ahead = 11_000
  expectProblem(t, await refresh(stolen.refreshToken), 401, 'unauthorized')
  expectProblem(t, await refresh(next.refreshToken), 401, 'unauthorized')
  t.equal((await me(next.jwt)).status, 200)
  const line = (await auditOf(stores, 'session.ended')).at(-1)
  t.match(line, { actor_id: alice.id, details: { reason: 'refresh_token_used_twice' } })
})

t.test('a session ends after 14 days without use, and after 30 days in any case', async (t) => {
  const { refreshToken } = await remembered()
  ahead = 14 * DAY + 60_000
  expectProblem(t, await refresh(refreshToken), 401, 'unauthorized')
  ahead = 0
  let used = await remembered()
  for (const day of [13, 26, 29]) {
    ahead = day * DAY
    const answer = await refresh(used.refreshToken)
    t.equal(answer.status, 200, `day ${day}`)
    used = answer.body as Remembered
  }
  ahead = 30 * DAY + 1000
  expectProblem(t, await refresh(used.refreshToken), 401, 'unauthorized')
})

t.test('sign-out ends the refresh path at once, while the JWT runs out by itself', async (t) => {
  const { jwt, refreshToken } = await remembered()
  for (let twice = 0; twice < 2; twice++) {
    const answer = await api.call('POST', '/v1/auth/logout', { as: jwt })
    t.equal(answer.status, 204)
    t.match(answer.headers.get('set-cookie'), /^__Host-session=; Max-Age=0/)
  }
  expectProblem(t, await refresh(refreshToken), 401, 'unauthorized')
  ahead = DAY - 5000
  t.equal((await me(jwt)).status, 200)
  ahead = DAY
  expectProblem(t, await me(jwt), 401, 'unauthorized')
})

t.test('sign-out ends the session of a refresh token that is named', async (t) => {
  const [phone, laptop, charlie] = [await remembered(), await remembered(), await signUp(api, 'Charlie')]
  const foreign = await remembered(charlie)
  for (const { refreshToken } of [phone, foreign]) {
    await api.call('POST', '/api/v1/auth/logout', { as: laptop.jwt, json: { refreshToken } })
  }
  for (const { refreshToken } of [phone, laptop]) {
    expectProblem(t, await refresh(refreshToken), 401, 'unauthorized')
  }
  t.equal((await refresh(foreign.refreshToken)).status, 200, "nobody ends another person's")
})

t.test('a JWT whose session has ended opens no other session', async (t) => {
  const { jwt } = await remembered()
  await api.call('POST', '/v1/auth/logout', { as: jwt })
  const json = { organizationId: alice.organizationId }
  expectProblem(t, await api.call('POST', '/v1/auth/switch', { as: jwt, json }), 401, 'unauthorized')
})

t.test('every refusal of a refresh token is the same', async (t) => {
  const { jwt, refreshToken } = await remembered()
  await api.call('POST', '/v1/auth/logout', { as: jwt })
  const bodies = []
  for (const token of [refreshToken, 'pgr_unknown', '', jwt]) {
    bodies.push({ ...expectProblem(t, await refresh(token), 401, 'unauthorized'), instance: '' })
  }
  for (const body of bodies) t.same(body, bodies[0])
})

t.test('a suspended organization refreshes nothing, and who left it has nothing to refresh', async (t) => {
  const dora = await signUp(api, 'Dora')
  const { refreshToken } = await remembered(dora)
  await stores.db.query('update organizations set suspended_at = now() where id = $1', [dora.organizationId])
  expectProblem(t, await refresh(refreshToken), 403, 'organization_suspended')
  await stores.db.query('update organizations set suspended_at = null where id = $1', [dora.organizationId])
  t.equal((await refresh(refreshToken)).status, 200)
  await stores.db.query('delete from memberships where user_id = $1', [dora.id])
  expectProblem(t, await refresh(refreshToken), 401, 'unauthorized')
})
