import t, { type Test } from 'tap'
import { startRedis } from '../../local/redis.ts'
import type { AppError } from '../../shared/errors.ts'
import { createDoor } from '../../shared/ingest/accept.ts'
import { createMetrics } from '../../shared/metrics.ts'
import { dataDirFor } from '../support/data-dir.ts'
import { connectAgent, type FakeAgent } from '../support/fake-agent.ts'
import { heartbeatOf, historyOf } from '../support/gateway-tenant.ts'
import { gatewayFor, openStores, workerFor } from '../support/ingest.ts'
import { drained } from '../support/load.ts'
import { createTenant } from '../support/tenant.ts'
import { waitFor } from '../support/wait-for.ts'

const options = { timeout: 60_000 }

/** A gateway on a Redis that can be made to say nothing, as one with a hanging disk does. */
async function setUp(t: Test) {
  const dataDir = await dataDirFor(t)
  const redis = await startRedis({ dataDir, log: { info: () => undefined, warn: () => undefined } })
  t.teardown(() => redis.stop())
  const stores = await openStores(t, { redisUrl: redis.url })
  const tenant = await createTenant(stores.db, stores.secrets)
  const monitorId = await tenant.addMonitor()
  const agent = await tenant.addAgent([monitorId])
  const gateway = await gatewayFor(t, stores)
  const caller = await stores.callers.byApiKey(agent.apiKey)
  if (caller === null) throw new Error('the key is not known')
  t.teardown(async () => void process.kill(redis.pid, 'SIGCONT'))
  // The silent connection was dropped; the new one is there in no time, which may be later than the next line of a test.
  const wake = async () => {
    process.kill(redis.pid, 'SIGCONT')
    await waitFor(() => stores.redis.ping().then(() => true))
  }
  return { stores, monitorId, agent, gateway, caller, wake, sleep: () => process.kill(redis.pid, 'SIGSTOP') }
}

function frameOf(seq: number, items: object[]): object {
  return { type: 'heartbeats', seq, sentAt: new Date().toISOString(), items }
}

/** The gateway says that it is overloaded and when to come back, and closes. */
async function isSentAway(t: Test, socket: FakeAgent): Promise<void> {
  const bye = await socket.next('bye', 10_000)
  t.equal(bye.code, 1013)
  const retryAfterMs = bye.retryAfterMs ?? 0
  t.ok(retryAfterMs >= 1000 && retryAfterMs <= 5000, `come back in ${retryAfterMs} ms`)
  t.match(await socket.closed, { code: 1013 })
}

t.test('a frame that Redis does not confirm is neither acknowledged nor rejected', options, async (t) => {
  const { stores, monitorId, agent, gateway, wake, sleep } = await setUp(t)
  const stream = '0193b3a0-0000-7000-8000-000000000001'
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await socket.hello({ stream })
  socket.send(frameOf(1, [heartbeatOf(monitorId)]))
  await socket.next('ack')

  sleep()
  const second = frameOf(2, [heartbeatOf(monitorId)])
  const sentAt = performance.now()
  socket.send(second)
  await isSentAway(t, socket)
  const took = performance.now() - sentAt
  t.ok(took >= 4500 && took < 6500, `it was held for ${took} ms`)
  t.same(
    socket.frames.map(({ type }) => type),
    ['welcome', 'ack', 'bye']
  )

  await wake()
  const again = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await again.hello({ stream, first: 2 })
  again.send(second)
  t.match(await again.next('ack'), { seq: 2 })
  // Redis did take the frame that it never confirmed, so the queue holds it twice.
  t.match(await stores.queue.counts(), { waiting: 3 })
  await workerFor(t, stores)
  await drained(stores, 10_000)
  t.equal((await historyOf(stores, monitorId)).length, 2, 'one row for each heartbeat')
  await again.close()
})

t.test('HTTP is told that nothing is durable, and works again afterwards', options, async (t) => {
  const { stores, monitorId, caller, wake, sleep } = await setUp(t)
  const { queue, log } = stores
  const door = createDoor({ queue, way: 'http', metrics: createMetrics(), log, clock: Date.now })
  t.teardown(() => door.stop())
  const overloaded = { code: 'overloaded', details: { retryAfterSeconds: Number } }
  sleep()
  const push = { monitorId, status: 'up', latency: null } as const
  await Promise.all([
    t.rejects(door.submit(caller, [heartbeatOf(monitorId)]), overloaded),
    t.rejects(door.record(caller, push), overloaded)
  ])
  await wake()
  t.match(await door.submit(caller, [heartbeatOf(monitorId)]), { accepted: 1 })
  await door.record(caller, push)
})

t.test('memory is bounded while Redis sleeps: when full, all are sent away at once', options, async (t) => {
  const { monitorId, agent, gateway, caller, wake, sleep } = await setUp(t)
  const { door } = gateway
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await socket.hello()
  sleep()
  const settled: Array<AppError | null> = []
  const receipt = { settle: (_tag: number, error: AppError | null) => void settled.push(error) }
  const text = JSON.stringify(Array.from({ length: 500 }, () => heartbeatOf(monitorId, { message: 'm'.repeat(400) })))
  const before = process.memoryUsage().rss
  let frames = 0
  // Parsed anew each time, as from a socket: strings that are shared would weigh nothing.
  while (door.accept(caller, JSON.parse(text), receipt, frames) !== null && frames < 1000) frames++
  const grown = Math.round((process.memoryUsage().rss - before) / 1024 / 1024)
  t.ok(frames > 100 && frames < 1000, `${frames} frames were taken in`)
  t.ok(grown < 256, `${grown} MiB more`)

  socket.send(frameOf(1, [heartbeatOf(monitorId)]))
  await isSentAway(t, socket)
  t.same(settled, [], 'long before anything was given up')

  await waitFor(() => settled.length >= frames, { what: 'all are told', timeoutMs: 10_000 })
  t.ok(
    settled.every((error) => error?.code === 'overloaded'),
    'nothing was confirmed'
  )
  await wake()
  const again = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await again.hello()
  again.send(frameOf(1, [heartbeatOf(monitorId)]))
  t.match(await again.next('ack'), { seq: 1 })
  await again.close()
})
