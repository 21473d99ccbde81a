import { t } from 'tap'
import { openCounts } from '../../shared/counts.ts'
import { connectRedis } from '../../shared/redis.ts'
import { apiFor } from '../support/api.ts'
import { captureLog } from '../support/captured-log.ts'
import { openStores } from '../support/ingest.ts'
import { createTenant } from '../support/tenant.ts'
import { waitFor } from '../support/wait-for.ts'

const NOON = Date.parse('2026-11-21T12:00:00.000Z')
const clock = () => NOON
const stores = await openStores(t)

t.test('what a caller does at one API counts at the others within seconds', async (t) => {
  const tenant = await createTenant(stores.db, stores.secrets)
  const { apiKey } = await tenant.addAgent([await tenant.addMonitor()])
  const [first, second] = await Promise.all([1, 2].map(() => apiFor(t, stores, { rateLimitScale: 5 / 6000, clock })))
  if (first === undefined || second === undefined) throw new Error('two were started')
  const ask = async (api: typeof first) => (await api.call('GET', '/api/heartbeats', { as: apiKey })).status
  t.equal(await ask(second), 403)
  const statuses: number[] = []
  for (let i = 0; i < 4; i++) statuses.push(await ask(first))
  t.same(statuses, [403, 403, 403, 403])
  // By one process alone there would be four more for the second, and one more for the first.
  await waitFor(async () => (await ask(second)) === 429, { what: 'the second API to hear of the first' })
  await waitFor(async () => (await ask(first)) === 429)
})

t.test('two processes come to the same count of every key', async (t) => {
  const options = { client: stores.redis.client, prefix: `${stores.prefix}-two`, log: stores.log, clock }
  const [one, two] = [openCounts(options), openCounts(options)]
  t.teardown(() => Promise.all([one.stop(), two.stop()]))
  const limits = [one.limit('x', 100_000), two.limit('x', 100_000)] as const
  for (let i = 0; i < 1200; i++) for (const limit of limits) limit.take(`key ${i % 600}`)
  const heard = (remaining: number) => limits.findIndex((limit) => limit.look('key 8').remaining === remaining)
  const later = await waitFor(() => (heard(100_000 - 4) < 0 ? null : heard(100_000 - 4)), {
    what: 'the one that told last'
  })
  // A process hears of a key with what it has to tell of it.
  const earlier = limits[1 - later] ?? limits[0]
  earlier.take('key 8')
  await waitFor(() => earlier.look('key 8').remaining === 100_000 - 5)
})

t.test('while Redis is away each process counts for itself, and says so', async (t) => {
  const { log, text } = captureLog()
  const redis = await connectRedis({ url: stores.redisUrl, log: stores.log, whenAway: 'fail' })
  await redis.stop()
  const counts = openCounts({ client: redis.client, prefix: `${stores.prefix}-away`, log, clock })
  t.teardown(counts.stop)
  const limit = counts.limit('x', 3)
  const refused = () => [1, 2, 3, 4].map(() => limit.take('key').refused)
  t.same(refused(), [false, false, false, true])
  await waitFor(() => text().includes('limits are counted by each process alone while Redis is away'))
  t.same(refused(), [true, true, true, true])
})
