import t, { type Test } from 'tap'
import { startRedis } from '../../local/redis.ts'
import { announce } from '../../shared/instances.ts'
import { connectRedis } from '../../shared/redis.ts'
import { dataDirFor } from '../support/data-dir.ts'
import { openStores } from '../support/ingest.ts'
import { startKillable } from '../support/killable-process.ts'
import { startLoad } from '../support/load.ts'

const STOP_MS = 10_000

async function setUp(t: Test) {
  const redis = await startRedis({
    dataDir: await dataDirFor(t),
    log: { info: () => undefined, warn: () => undefined }
  })
  t.teardown(() => redis.stop())
  return { redis, stores: await openStores(t, { redisUrl: redis.url }) }
}

for (const away of ['SIGKILL', 'SIGSTOP'] as const) {
  const what = away === 'SIGKILL' ? 'dead' : 'silent'
  t.test(`gateway and worker stop within 10 s while Redis is ${what}`, { timeout: 60_000 }, async (t) => {
    const { redis, stores } = await setUp(t)
    const [gateway, worker] = await Promise.all([
      startKillable(t, 'gateway', stores),
      startKillable(t, 'worker', stores)
    ])
    const load = await startLoad(t, stores, () => `ws://127.0.0.1:${gateway.port()}/`)
    await load.moreAcked(100)
    process.kill(redis.pid, away)
    t.teardown(() => away === 'SIGSTOP' && process.kill(redis.pid, 'SIGCONT'))
    const began = Date.now()
    const took = [gateway, worker].map(async (one) => {
      one.signal('SIGTERM')
      t.equal((await one.ended()).signal, null, 'it ends by itself')
      return Date.now() - began
    })
    for (const ms of await Promise.all(took)) t.ok(ms < STOP_MS, `${ms} ms`)
  })
}

t.test('a process that leaves does not wait for Redis to hear of it', async (t) => {
  const { redis } = await setUp(t)
  const { log } = await openStores(t, { redisUrl: redis.url })
  const waiting = await connectRedis({ url: redis.url, log, whenAway: 'wait' })
  t.teardown(() => waiting.stop())
  const instance = announce({ client: waiting.client, prefix: 'test', kind: 'worker', id: 'a', clock: Date.now })
  await waiting.ping()
  process.kill(redis.pid, 'SIGKILL')
  await redis.exited
  const began = Date.now()
  await instance.stop()
  t.ok(Date.now() - began < 1000)
})
