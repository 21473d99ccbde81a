import { type Test, t } from 'tap'
import { mintApiKey } from '../../shared/identity/api-key.ts'
import { apiFor, type CallOptions } from '../support/api.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'
import { createTenant } from '../support/tenant.ts'

// 15 s before the end of a minute of the clock.
const NOON = Date.parse('2026-11-21T12:00:45.000Z')
const stores = await openStores(t)

/** An API whose clock stands still until it is moved, with the limits of one minute times `scale`. */
async function limitedApi(t: Test, scale: number) {
  let now = NOON
  // A Redis prefix of its own: a test must not count for the next.
  const api = await apiFor(
    t,
    { ...stores, prefix: `${stores.prefix}-${t.name.replaceAll(/\W/g, '-')}` },
    {
      rateLimitScale: scale,
      clock: () => now
    }
  )
  const from = (address: string, options: CallOptions = {}, method = 'GET', path = '/api/heartbeats') =>
    api.call(method, path, { ...options, headers: { 'x-forwarded-for': address, ...options.headers } })
  const advance = (ms: number) => {
    now += ms
  }
  return { api, from, advance }
}

const tenant = await createTenant(stores.db, stores.secrets)
const monitorId = await tenant.addMonitor()
const agent = (await tenant.addAgent([monitorId])).apiKey

t.test('an answer tells every limit that it was counted to, an error too', async (t) => {
  const { from } = await limitedApi(t, 1)
  const answer = await from('192.0.2.1', { as: agent })
  t.equal(answer.status, 403)
  t.equal(
    answer.headers.get('ratelimit-policy'),
    '"address";q=12000;w=60, "caller";q=6000;w=60, "organization";q=60000;w=60'
  )
  t.equal(answer.headers.get('ratelimit'), '"address";r=11999;t=15, "caller";r=5999;t=15, "organization";r=59999;t=15')
  const unknown = await from('192.0.2.1')
  t.equal(unknown.headers.get('ratelimit'), '"address";r=11998;t=15')
})

t.test('health is not counted', async (t) => {
  const { from } = await limitedApi(t, 1)
  for (const path of ['/healthz', '/readyz']) {
    t.notOk((await from('192.0.2.1', {}, 'GET', path)).headers.has('ratelimit'))
  }
})

t.test('a caller who asks too often waits for the next minute, and nobody else', async (t) => {
  const { from, advance } = await limitedApi(t, 3 / 6000)
  const other = (await tenant.addAgent([monitorId])).apiKey
  const statuses: number[] = []
  for (let i = 0; i < 4; i++) statuses.push((await from(`192.0.2.${i}`, { as: agent })).status)
  t.same(statuses, [403, 403, 403, 429])
  const refused = await from('192.0.2.9', { as: agent })
  expectProblem(t, refused, 429, 'rate_limited')
  t.equal(refused.headers.get('retry-after'), '15')
  t.match(refused.headers.get('ratelimit'), /"caller";r=0;t=15$/)
  t.equal((await from('192.0.2.9', { as: other })).status, 403)
  advance(15_000)
  t.equal((await from('192.0.2.9', { as: agent })).status, 403)
})

t.test('a network is refused before anybody is looked up, whatever address of its /64 it takes', async (t) => {
  const { from } = await limitedApi(t, 3 / 12_000)
  const key = mintApiKey('agent')
  const statuses: number[] = []
  for (let i = 1; i < 5; i++) statuses.push((await from(`2001:db8:1:1::${i}`, { as: key })).status)
  t.same(statuses, [401, 401, 401, 429])
  t.equal((await from('2001:db8:1:1::1')).status, 429)
  t.equal((await from('2001:db8:1:2::1', { as: agent })).status, 403)
})

t.test('what others are refused does not use up the quota of a key', async (t) => {
  const { from } = await limitedApi(t, 3 / 6000)
  const forged = `${agent.slice(0, -1)}${agent.endsWith('0') ? '1' : '0'}`
  for (let i = 0; i < 5; i++) await from(`192.0.2.${i}`, { as: forged })
  t.match((await from('192.0.2.9', { as: agent })).headers.get('ratelimit'), /"caller";r=2;/)
})

t.test('an organization has a limit of its own', async (t) => {
  const { from } = await limitedApi(t, 1 / 6000)
  const keys = await Promise.all(Array.from({ length: 11 }, () => tenant.addAgent([monitorId])))
  const statuses: number[] = []
  for (const [i, { apiKey }] of keys.entries()) statuses.push((await from(`192.0.2.${i}`, { as: apiKey })).status)
  t.same(statuses, [...Array.from({ length: 10 }, () => 403), 429])
})

for (const dialect of ['/push', '/api/push']) {
  t.test(`a push URL that is called too often is refused in the words of ${dialect}`, async (t) => {
    const { from } = await limitedApi(t, 2 / 600)
    const path = `${dialect}/${await tenant.addPushUrl(await tenant.addMonitor({ kind: 'push' }))}`
    t.match(await from('192.0.2.1', {}, 'GET', path), { status: 200, body: { ok: true } })
    const last = await from('192.0.2.1', {}, 'GET', path)
    t.equal(last.headers.get('ratelimit'), '"address";r=38;t=15, "push-url";r=0;t=15')
    const refused = await from('192.0.2.2', {}, 'GET', path)
    t.match(refused, { status: 429, body: { ok: false, msg: /push-url/ } })
    t.equal(refused.headers.get('retry-after'), '15')
    const other = `${dialect}/${await tenant.addPushUrl(await tenant.addMonitor({ kind: 'push' }))}`
    t.equal((await from('192.0.2.1', {}, 'GET', other)).status, 200)
  })
}

t.test('a refusal by another rule does not promise an earlier time than the quota', async (t) => {
  const { from, advance } = await limitedApi(t, 1)
  const json = { email: 'nobody@example.com', password: 'wrong' }
  for (let i = 0; i < 5; i++) await from('192.0.2.1', { json }, 'POST', '/v1/auth/login')
  advance(20_000)
  const refused = await from('192.0.2.1', { json }, 'POST', '/v1/auth/login')
  t.match({ status: refused.status, wait: refused.headers.get('retry-after') }, { status: 429, wait: '10' })
  t.notOk(refused.headers.has('ratelimit'))
})
