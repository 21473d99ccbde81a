import { decodeProtectedHeader } from 'jose'
import { t } from 'tap'
import { beginKeyRotation, replaceSigningKeys, stepSigningKeys } from '../../api/sign-in/signing-keys.ts'
import { connectDb } from '../../shared/db.ts'
import { apiFor } from '../support/api.ts'
import { PASSWORD, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Two APIs and a person, on a clock that the test moves; `step` is what each API does at its start and every hour. */
async function startWith(t: Parameters<typeof openStores>[0]) {
  const stores = await openStores(t)
  const time = { ahead: 0 }
  const clock = () => Date.now() + time.ahead
  const db = connectDb({ url: stores.databaseUrl, role: 'pulsegate_api', log: stores.log, max: 5 })
  t.teardown(db.stop)
  const materials = { secrets: stores.secrets, clock }
  // Processes of one installation, so with the same addresses.
  const addresses = { apiUrl: 'https://api.example.com', siteUrl: 'https://example.com' }
  const started = () => apiFor(t, stores, { clock, addresses })
  const apis = [await started(), await started()] as const
  const [api, other] = apis
  const alice = await signUp(api, 'Alice')
  const signIn = async (at = api) => {
    const json = { email: alice.email, password: PASSWORD }
    return ((await at.call('POST', '/v1/auth/login', { json })).body as { jwt: string }).jwt
  }
  const published = async (at = api) => {
    const { body } = await at.call('GET', '/.well-known/jwks.json')
    return (body as { keys: Array<{ kid: string }> }).keys.map(({ kid }) => kid)
  }
  const me = (jwt: string, at = other) => at.call('GET', '/v1/me', { as: jwt })
  return {
    stores,
    time,
    db,
    materials,
    api,
    other,
    alice,
    signIn,
    published,
    me,
    step: () => stepSigningKeys(db, materials)
  }
}

const kidOf = (jwt: string) => decodeProtectedHeader(jwt).kid ?? ''

t.test('a key signs for 90 days; the next one is published two hours before it does', async (t) => {
  const { time, alice, signIn, published, me, step } = await startWith(t)
  const first = kidOf(alice.jwt)
  time.ahead = 90 * DAY - 2 * HOUR - MINUTE
  t.equal(await step(), 'nothing')
  time.ahead = 90 * DAY - 2 * HOUR
  t.equal(await step(), 'next_key_published')
  t.equal(await step(), 'nothing', 'once')
  time.ahead += MINUTE
  const [, next = ''] = await published()
  t.same(await published(), [first, next])
  const old = await signIn()
  t.equal(kidOf(old), first, 'what is published does not sign yet')
  time.ahead += 2 * HOUR - 2 * MINUTE
  t.equal(await step(), 'nothing')
  time.ahead += MINUTE
  t.equal(await step(), 'next_key_signs')
  time.ahead += MINUTE
  t.equal(kidOf(await signIn()), next)
  t.same(await published(), [first, next])
  t.equal((await me(old)).status, 200, 'what the old key signed is still good')
})

t.test('a key that signs no more is kept for 25 hours, longer than any token lives', async (t) => {
  const { time, alice, signIn, published, me, db, materials, step } = await startWith(t)
  t.equal(await beginKeyRotation(db, materials), 'next_key_published')
  time.ahead = 2 * HOUR
  const last = await signIn()
  t.equal(await step(), 'next_key_signs')
  time.ahead += DAY - MINUTE
  t.equal((await me(last)).status, 200)
  time.ahead += HOUR
  t.equal(await step(), 'nothing')
  t.same((await published()).length, 2)
  time.ahead += MINUTE
  await step()
  time.ahead += MINUTE
  t.notOk((await published()).includes(kidOf(alice.jwt)))
  t.equal((await published()).length, 1)
})

t.test('any number of processes rotate together, and each does so once', async (t) => {
  const { time, db, stores, step } = await startWith(t)
  time.ahead = 90 * DAY
  const together = async () => (await Promise.all(Array.from({ length: 8 }, step))).filter((did) => did !== 'nothing')
  t.same(await together(), ['next_key_published'])
  time.ahead += 2 * HOUR
  t.same(await together(), ['next_key_signs'])
  const rows = await db.query('select state from signing_keys order by state')
  t.same(rows, [{ state: 'active' }, { state: 'retiring' }])
  t.ok(stores)
})

t.test('every API notices new keys without a restart', async (t) => {
  const { time, api, other, signIn, me, db, materials, step } = await startWith(t)
  await signIn(other)
  await beginKeyRotation(db, materials)
  time.ahead = 2 * HOUR
  await step()
  time.ahead += MINUTE
  const jwts = [await signIn(api), await signIn(other)] as const
  t.equal(kidOf(jwts[0]), kidOf(jwts[1]))
  t.equal((await me(jwts[0], other)).status, 200)
  t.equal((await me(jwts[1], api)).status, 200)
})

t.test('in an emergency all tokens end within a minute, and sessions go on', async (t) => {
  const { time, api, alice, signIn, published, me, db, materials } = await startWith(t)
  const json = { email: alice.email, password: PASSWORD, remember: true }
  const { refreshToken } = (await api.call('POST', '/v1/auth/login', { json })).body as { refreshToken: string }
  const jwt = await signIn()
  t.equal((await me(jwt)).status, 200)
  const kid = await replaceSigningKeys(db, materials)
  time.ahead = MINUTE
  t.same(await published(), [kid])
  expectProblem(t, await me(jwt), 401, 'unauthorized')
  expectProblem(t, await me(jwt, api), 401, 'unauthorized')
  const refreshed = await api.call('POST', '/v1/auth/refresh', { json: { refreshToken } })
  t.equal((await me((refreshed.body as { jwt: string }).jwt)).status, 200)
})

t.test('an API that starts makes up for what is due', async (t) => {
  const { time, stores, published } = await startWith(t)
  time.ahead = 90 * DAY
  const late = await apiFor(t, stores, { clock: () => Date.now() + time.ahead })
  await late.stop()
  t.equal((await published()).length, 2)
})
