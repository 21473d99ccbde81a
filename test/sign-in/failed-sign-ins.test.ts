import { type Test, t } from 'tap'
import { connectRedis } from '../../shared/redis.ts'
import { type Answer, apiFor, type TestApi } from '../support/api.ts'
import { PASSWORD, signUp } from '../support/cast.ts'
import { openStores, type Stores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'
import { waitFor } from '../support/wait-for.ts'

const MINUTE_MS = 60_000

/** An API whose clock stands still until it is moved. */
async function stoppedApi(t: Test, stores?: Stores) {
  const opened = stores ?? (await openStores(t))
  let now = Date.now()
  const api = await apiFor(t, opened, { clock: () => now })
  const logIn = (email: string, password: string, from = '192.0.2.1', path = '/v1/auth/login') =>
    api.call('POST', path, { json: { email, password }, headers: { 'x-forwarded-for': from } })
  const advance = (ms: number) => {
    now += ms
  }
  return { api, logIn, advance }
}

function waitOf(answer: Answer): number {
  return Number(answer.headers.get('retry-after'))
}

/** All that a client sees, but what tells one answer from another by nature. */
function shown({ status, headers, body }: Answer) {
  const own = ['date', 'request-id', 'ratelimit', 'content-length']
  const rest = [...headers].filter(([name]) => !own.includes(name))
  return { status, headers: rest, body: { ...(body as object), instance: '' } }
}

async function hashesOf(api: TestApi): Promise<number> {
  return Number(/^pulsegate_password_hashes_total (\d+)$/m.exec(await api.metrics.text())?.[1])
}

t.test('after five failures each further one doubles the wait, up to 15 minutes', async (t) => {
  const { api, logIn, advance } = await stoppedApi(t)
  const { email } = await signUp(api, 'Alice')
  for (let i = 0; i < 5; i++) expectProblem(t, await logIn(email, 'wrong'), 401, 'invalid_credentials')
  const waits: number[] = []
  for (let i = 0; i < 7; i++) {
    const refused = await logIn(email, PASSWORD)
    expectProblem(t, refused, 429, 'rate_limited')
    waits.push(waitOf(refused))
    advance(waitOf(refused) * 1000)
    expectProblem(t, await logIn(email, 'wrong'), 401, 'invalid_credentials')
  }
  t.same(waits, [30, 60, 120, 240, 480, 900, 900])
})

t.test('a right password after the wait passes, and all is forgotten', async (t) => {
  const { api, logIn, advance } = await stoppedApi(t)
  const { email } = await signUp(api, 'Alice')
  for (let i = 0; i < 5; i++) await logIn(email, 'wrong')
  t.equal((await logIn(email, PASSWORD)).status, 429)
  advance(30_000)
  t.equal((await logIn(email, PASSWORD)).status, 200)
  for (let i = 0; i < 4; i++) t.equal((await logIn(email, 'wrong')).status, 401)
  t.equal((await logIn(email, PASSWORD)).status, 200)
})

t.test('failures are forgotten 15 minutes after the last', async (t) => {
  const { logIn, advance } = await stoppedApi(t)
  for (let i = 0; i < 4; i++) await logIn('nobody@example.com', 'wrong')
  advance(15 * MINUTE_MS)
  for (let i = 0; i < 5; i++) t.equal((await logIn('nobody@example.com', 'wrong')).status, 401)
  t.equal((await logIn('nobody@example.com', 'wrong')).status, 429)
})

t.test('both addresses of the login count together, and so do all networks', async (t) => {
  const { logIn } = await stoppedApi(t)
  const tries = [0, 1, 2, 3, 4, 5].map((i) => () => {
    const path = i % 2 === 0 ? '/v1/auth/login' : '/api/v1/auth/login'
    return logIn('Nobody@example.com', 'wrong', `192.0.2.${i}`, path)
  })
  const statuses: number[] = []
  for (const attempt of tries) statuses.push((await attempt()).status)
  t.same(statuses, [401, 401, 401, 401, 401, 429])
})

t.test('a network has thirty failures; those who only have to wait use none of them', async (t) => {
  const { logIn } = await stoppedApi(t)
  const from = (i: number) => `2001:db8:7:7:${i.toString(16)}::1`
  for (let i = 0; i < 20; i++) await logIn('someone@example.com', 'wrong', from(i))
  for (let i = 0; i < 25; i++) t.equal((await logIn(`someone${i}@example.com`, 'wrong', from(i))).status, 401)
  expectProblem(t, await logIn('other@example.com', 'wrong', from(1)), 429, 'rate_limited')
  t.equal((await logIn('other@example.com', 'wrong', '2001:db8:7:8::1')).status, 401)
})

t.test('a rush of good sign-ins from one network does not use up its failures', async (t) => {
  const api = await apiFor(t, await openStores(t), { signInPoints: { account: 1000, address: 5 } })
  const { email } = await signUp(api, 'Alice')
  const logIn = (password: string) => api.call('POST', '/v1/auth/login', { json: { email, password } })
  const rush = await Promise.all(Array.from({ length: 30 }, () => logIn(PASSWORD)))
  t.ok(rush.some(({ status }) => status === 429))
  for (let i = 0; i < 5; i++) {
    t.equal((await logIn(PASSWORD)).status, 200)
    t.equal((await logIn('wrong')).status, 401)
  }
  for (let i = 0; i < 5; i++) t.equal((await logIn(PASSWORD)).status, 429, 'those that failed still count')
})

t.test('known and unknown accounts are refused alike and cost one hash each', async (t) => {
  const { api, logIn } = await stoppedApi(t)
  const { email } = await signUp(api, 'Alice')
  const answersFor = async (who: string, from: string) => {
    const before = await hashesOf(api)
    const answers: Answer[] = []
    for (let i = 0; i < 7; i++) answers.push(await logIn(who, 'wrong', from))
    return { answers: answers.map(shown), hashes: (await hashesOf(api)) - before }
  }
  const known = await answersFor(email, '192.0.2.1')
  const unknown = await answersFor('nobody@example.com', '192.0.2.2')
  t.same(
    known.answers.map(({ status }) => status),
    [401, 401, 401, 401, 401, 429, 429]
  )
  t.same(known, unknown)
  t.equal(known.hashes, 5)
})

t.test('people can sign in while Redis is away', async (t) => {
  const stores = await openStores(t)
  const redis = await connectRedis({ url: stores.redisUrl, log: stores.log, whenAway: 'fail' })
  const { api, logIn } = await stoppedApi(t, { ...stores, redis })
  const { email } = await signUp(api, 'Alice')
  await redis.stop()
  await waitFor(() => redis.client.status === 'end')
  t.equal((await logIn(email, PASSWORD)).status, 200)
})
