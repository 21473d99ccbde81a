import t, { type Test } from 'tap'
import { startPostgres } from '../../local/postgres.ts'
import { startRedis } from '../../local/redis.ts'
import { migrate } from '../../scripts/migrate.ts'
import { createLog } from '../../shared/log.ts'
import { dataDirFor } from '../support/data-dir.ts'
import { freezeInTransaction, thawToCommit } from '../support/freeze-in-transaction.ts'
import { openStores, type StoresOptions } from '../support/ingest.ts'
import { NO_VIOLATION } from '../support/judge.ts'
import { startKillable } from '../support/killable-process.ts'
import { type Load, startLoad } from '../support/load.ts'
import { waitFor } from '../support/wait-for.ts'

const log = { info: () => undefined, warn: () => undefined }
const options = { timeout: 90_000 }

async function setUp(t: Test, own: StoresOptions) {
  const stores = await openStores(t, own)
  const [gateway, worker] = await Promise.all([startKillable(t, 'gateway', stores), startKillable(t, 'worker', stores)])
  const load = await startLoad(t, stores, () => `ws://127.0.0.1:${gateway.port()}/`)
  await load.moreAcked(1000)
  return { stores, load, worker, crashes: () => [...gateway.crashes, ...worker.crashes] }
}

/** Resolves when every agent has been sent away this often since `before`. */
async function sentAway(load: Load, before: readonly number[], times: number): Promise<void> {
  const all = () => load.agents.every(({ closeCodes }, i) => closeCodes.length >= (before[i] as number) + times)
  await waitFor(all, { what: `every agent is sent away ${times} times`, timeoutMs: 20_000 })
}

t.test('while Redis is dead nothing is acknowledged, and nothing acknowledged is lost with it', options, async (t) => {
  const dataDir = await dataDirFor(t)
  let redis = await startRedis({ dataDir, log })
  t.teardown(() => redis.stop())
  const { stores, load, crashes } = await setUp(t, { redisUrl: redis.url })
  for (const rewriting of [false, true]) {
    await load.randomMoment()
    // The test's own connection may come back after the gateway's.
    await waitFor(() => stores.redis.client.status === 'ready', { what: 'the test is connected to Redis' })
    if (rewriting) await stores.redis.client.call('BGREWRITEAOF')
    const before = load.agents.map(({ closeCodes }) => closeCodes.length)
    process.kill(redis.pid, 'SIGKILL')
    await redis.exited
    // Their first end tells that what was acknowledged before the kill has arrived.
    await sentAway(load, before, 1)
    const { acked } = load.journal
    await sentAway(load, before, 3)
    t.equal(load.journal.acked, acked, 'nothing was acknowledged without Redis')
    redis = await startRedis({ dataDir, log })
    await load.moreAcked(1000)
  }
  t.same(await load.judgement(), NO_VIOLATION)
  for (const { closeCodes } of load.agents) t.same(new Set(closeCodes.slice(0, -1)), new Set([1013]))
  t.same(crashes(), [])
})

t.test('a worker killed between its commit and the end of its jobs records nothing twice', options, async (t) => {
  const dataDir = await dataDirFor(t)
  let redis = await startRedis({ dataDir, log })
  t.teardown(() => redis.stop())
  const { stores, load, worker, crashes } = await setUp(t, { redisUrl: redis.url })
  await freezeInTransaction(stores, worker)
  process.kill(redis.pid, 'SIGKILL')
  await redis.exited
  // It commits, and cannot tell the queue.
  await thawToCommit(stores, worker)
  worker.signal('SIGKILL')
  await worker.ended()
  redis = await startRedis({ dataDir, log })
  const { active } = await waitFor(() => stores.queue.counts())
  t.ok(active > 0, `${active} jobs will come again`)
  await worker.start()
  await load.moreAcked(1000)
  t.same(await load.judgement(), NO_VIOLATION)
  t.same(crashes(), [])
})

t.test('while PostgreSQL is dead acknowledging goes on, and all of it is recorded afterwards', options, async (t) => {
  const dataDir = await dataDirFor(t)
  // Not `fast`: a killed server must keep what it committed.
  let postgres = await startPostgres({ dataDir, log })
  t.teardown(() => postgres.stop())
  await migrate(postgres.url, createLog('migrate', 'fatal'))
  const { load, crashes } = await setUp(t, { databaseUrl: postgres.url })
  for (let kill = 0; kill < 2; kill++) {
    await load.randomMoment()
    process.kill(postgres.pid, 'SIGKILL')
    await postgres.exited
    await load.moreAcked(5000)
    postgres = await startPostgres({ dataDir, log })
  }
  t.same(await load.judgement(), NO_VIOLATION)
  for (const { closeCodes } of load.agents) t.equal(closeCodes.length, 1, 'no agent noticed')
  t.same(crashes(), [])
})
