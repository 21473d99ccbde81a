import t, { type Test } from 'tap'
import { startRedis } from '../../local/redis.ts'
import { subscribeChanges } from '../../shared/changes.ts'
import { createLog } from '../../shared/log.ts'
import { openQueue, workQueue } from '../../shared/queue.ts'
import { connectRedis } from '../../shared/redis.ts'
import { captureLog } from '../support/captured-log.ts'
import { dataDirFor } from '../support/data-dir.ts'
import { proxyTo, type SwallowingProxy } from '../support/swallowing-proxy.ts'
import { waitFor } from '../support/wait-for.ts'

const log = createLog('test', 'fatal')

async function setUp(t: Test): Promise<{ proxy: SwallowingProxy; url: string; direct: string }> {
  const redis = await startRedis({
    dataDir: await dataDirFor(t),
    log: { info: () => undefined, warn: () => undefined }
  })
  t.teardown(() => redis.stop())
  const proxy = await proxyTo(t, redis.port)
  return { proxy, url: redis.url.replace(`:${redis.port}`, `:${proxy.port}`), direct: redis.url }
}

t.jobs = 4

t.test(
  'whoever must be told is told within 5 s that Redis went silent, and the next command finds a new way',
  async (t) => {
    const { proxy, url } = await setUp(t)
    const connection = await connectRedis({ url, log, whenAway: 'fail' })
    t.teardown(() => connection.stop())
    await connection.ping()
    proxy.swallow()
    const began = Date.now()
    await t.rejects(connection.client.set('key', 'value'))
    t.ok(Date.now() - began < 6000)
    await waitFor(() => connection.client.set('key', 'value'))
    t.equal(proxy.accepted(), 2)
  }
)

t.test('a command that waits for Redis is sent again on a new connection', async (t) => {
  const { proxy, url } = await setUp(t)
  const connection = await connectRedis({ url, log, whenAway: 'wait' })
  t.teardown(() => connection.stop())
  proxy.swallow()
  t.equal(await connection.client.incr('key'), 1)
  t.equal(proxy.accepted(), 2)
})

t.test('a subscription that went silent is noticed, doubted and heard again', async (t) => {
  const { proxy, url, direct } = await setUp(t)
  const subscriber = await connectRedis({ url, log, whenAway: 'wait' })
  t.teardown(() => subscriber.stop())
  const changes = await subscribeChanges({ subscriber, prefix: 'test', log })
  const heard: string[] = []
  changes.listen(({ type }) => heard.push(type))
  proxy.swallow()
  await waitFor(() => heard.includes('resync'), { timeoutMs: 20_000 })
  const publisher = await connectRedis({ url: direct, log, whenAway: 'fail' })
  t.teardown(() => publisher.stop())
  await publisher.client.publish('test:changes', JSON.stringify({ type: 'organization_changed', organizationId: 'o' }))
  await waitFor(() => heard.includes('organization_changed'))
})

t.test('a connection at rest is kept, also while it blocks for a job', { timeout: 40_000 }, async (t) => {
  const { proxy, url, direct } = await setUp(t)
  const waiting = await connectRedis({ url, log, whenAway: 'wait' })
  t.teardown(() => waiting.stop())
  const failing = await connectRedis({ url, log, whenAway: 'fail' })
  t.teardown(() => failing.stop())
  const { log: heard, text } = captureLog()
  const handled: unknown[] = []
  const work = workQueue({
    redis: waiting,
    prefix: 'test',
    shards: 1,
    concurrency: 1,
    log: heard,
    handle: async (data) => {
      handled.push(data)
    }
  })
  t.teardown(() => work.stop())
  const sender = await connectRedis({ url: direct, log, whenAway: 'fail' })
  t.teardown(() => sender.stop())
  const queue = openQueue({ redis: sender, prefix: 'test', shards: 1 })
  t.teardown(() => queue.stop())
  await waitFor(() => proxy.accepted() === 3)
  // Longer than any silence that is borne: 12 s and the 3 s between two pings.
  const quietUntil = Date.now() + 16_000
  await waitFor(() => Date.now() > quietUntil, { timeoutMs: 20_000 })
  await queue.add(0, { number: 1 })
  await waitFor(() => handled.length === 1)
  t.equal(proxy.accepted(), 3)
  t.equal(text(), '')
})
