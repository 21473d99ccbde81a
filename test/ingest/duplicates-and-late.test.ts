import { randomUUID } from 'node:crypto'
import { type Test, test } from 'tap'
import { createDoor } from '../../shared/ingest/accept.ts'
import { createMetrics } from '../../shared/metrics.ts'
import { RECORD_STATUSES } from '../../shared/protocol/heartbeat.ts'
import { CONCURRENCY } from '../../worker/group-writer.ts'
import { historyOf } from '../support/gateway-tenant.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { drained, type JobRow, jobOf, keyOf, stateOf, transitionsOf } from '../support/jobs.ts'
import { createTenant } from '../support/tenant.ts'
import { waitFor } from '../support/wait-for.ts'

/** Stores with one monitor, one source and, unless `idle`, a worker. */
async function sceneOf(t: Test, { idle = false } = {}) {
  const stores = await openStores(t)
  const tenant = await createTenant(stores.db, stores.secrets)
  const monitorId = await tenant.addMonitor()
  const key = await keyOf(stores, monitorId)
  const sourceId = randomUUID()
  const metrics = createMetrics()
  if (!idle) await workerFor(t, stores, metrics)
  const now = Date.now()
  /** A heartbeat of that monitor and source, `secondsAgo`. */
  const row = (secondsAgo: number, fields: Partial<JobRow> = {}): JobRow => {
    const timestamp = now - secondsAgo * 1000
    return { key, sourceId, timestamp, receivedAt: Math.max(timestamp, now), ...fields }
  }
  /** Hands these jobs in one after the other, each when the last is written. */
  const write = async (...jobs: JobRow[][]) => {
    for (const rows of jobs) {
      await stores.queue.add(0, jobOf(rows))
      t.equal(await drained(stores), 0, 'no dead letter')
    }
  }
  const history = async () => {
    const rows = await historyOf(stores, monitorId)
    return rows.map((one) => ({
      ...one,
      status: RECORD_STATUSES[one.status],
      secondsAgo: (now - +one.timestamp) / 1000
    }))
  }
  const counted = async (line: RegExp) => Number(line.exec(await metrics.text())?.[1] ?? 0)
  return { stores, tenant, monitorId, key, sourceId, now, row, write, history, counted }
}

const MERGED = /^pulsegate_worker_rows_total\{path="merge"\} (\d+)$/m
const COPIED = /^pulsegate_worker_rows_total\{path="copy"\} (\d+)$/m
const SKIPPED = /^pulsegate_worker_skipped_total (\d+)$/m

test('of two heartbeats with one identity in one hand-in both count as accepted and the first is kept', async (t) => {
  const { stores, tenant, monitorId, key, history } = await sceneOf(t)
  const agent = await tenant.addAgent([monitorId])
  const caller = await stores.callers.byApiKey(agent.apiKey)
  const door = createDoor({ ...stores, way: 'http', metrics: createMetrics(), clock: Date.now })
  t.teardown(() => door.stop())
  const timestamp = new Date().toISOString()
  const items = ['degraded', 'down', 'up'].map((status, i) => ({ monitorId, status, latency: i, timestamp }))
  t.match(await door.submit(caller!, items), { accepted: 3, rejected: [] })
  t.equal(await drained(stores), 0)
  t.match(await history(), { length: 1, 0: { status: 'degraded', latency: 0, source_id: agent.id } })
  t.match(await stateOf(stores, key), { state: 'degraded' })
  t.same(await transitionsOf(stores, key), ['pending degraded'])
})

test('of two heartbeats with one identity in two jobs the first is kept, in history and in state', async (t) => {
  const { stores, key, row, write, history } = await sceneOf(t)
  await write([row(5, { status: 'down', message: 'first' })], [row(5, { status: 'up', message: 'second' })])
  t.match(await history(), { length: 1, 0: { status: 'down', message: 'first' } })
  t.match(await stateOf(stores, key), { state: 'down' })
  t.same(await transitionsOf(stores, key), ['pending down'])
})

test('another source at the same time is another heartbeat', async (t) => {
  const { row, write, history } = await sceneOf(t)
  await write([row(5), row(5, { sourceId: randomUUID() })], [row(5, { sourceId: randomUUID() })])
  t.equal((await history()).length, 3)
})

test('a whole job that is delivered again changes nothing', async (t) => {
  const { stores, key, row, write, history } = await sceneOf(t)
  const other = randomUUID()
  const rows = [row(40, { status: 'down' }), row(30), row(25, { sourceId: other, status: 'degraded' }), row(20)]
  await write(rows)
  const before = {
    history: await history(),
    state: await stateOf(stores, key),
    steps: await transitionsOf(stores, key)
  }
  t.same(before.steps, ['pending down', 'down up', 'up degraded', 'degraded up'])
  await write(rows, [...rows].reverse(), [...rows, row(10)], rows)
  t.same((await history()).slice(0, -1), before.history)
  t.same(await transitionsOf(stores, key), before.steps)
  t.match(await stateOf(stores, key), { state: 'up', state_since: before.state.state_since })
})

test('jobs out of order leave the state of the newest heartbeat and all of the history', async (t) => {
  const { stores, key, now, row, write, history } = await sceneOf(t)
  await write([row(10, { status: 'down' })], [row(30)], [row(20, { status: 'degraded' })])
  t.match(
    (await history()).map(({ status, secondsAgo }) => `${status} ${secondsAgo}`),
    ['up 30', 'degraded 20', 'down 10']
  )
  t.match(await stateOf(stores, key), { state: 'down', last_heartbeat_at: new Date(now - 10_000) })
  t.same(await transitionsOf(stores, key), ['pending down'])
})

test('heartbeats out of order in one job are folded by time', async (t) => {
  const { stores, key, row, write } = await sceneOf(t)
  await write([row(10), row(30, { status: 'down' }), row(20, { status: 'degraded' })])
  t.same(await transitionsOf(stores, key), ['pending down', 'down degraded', 'degraded up'])
})

test('a heartbeat of two hours ago is history and nothing else', async (t) => {
  const { stores, key, row, write, history } = await sceneOf(t)
  await write([row(7200, { status: 'down' })])
  t.match(await stateOf(stores, key), { state: 'pending', last_heartbeat_at: null, last_source_id: null })
  await write([row(5)])
  const before = await stateOf(stores, key)
  await write([row(7100, { status: 'down' }), row(3600, { status: 'down', sourceId: randomUUID() })])
  t.same(await stateOf(stores, key), before)
  t.same(await transitionsOf(stores, key), ['pending up'])
  t.equal((await history()).length, 4)
})

test('start and log marks are history and never change a state', async (t) => {
  const { stores, key, row, write, history } = await sceneOf(t)
  await write([row(5, { status: 'start', latency: null }), row(4, { status: 'log', latency: null })])
  t.same(await transitionsOf(stores, key), [])
  t.match(await stateOf(stores, key), { state: 'pending', last_heartbeat_at: null })
  t.match(await history(), [{ status: 'start' }, { status: 'log' }])
})

test('a paused monitor keeps its state and its history grows', async (t) => {
  const { stores, key, row, write, history } = await sceneOf(t)
  await stores.db.query(`update monitor_states set state = 'paused' where monitor_key = $1`, [key])
  await write([row(5, { status: 'down' })])
  t.match(await stateOf(stores, key), { state: 'paused' })
  t.equal((await history()).length, 1)
})

test('a day without a partition gets one, also when two workers need it at once', async (t) => {
  const { stores, row, history } = await sceneOf(t, { idle: true })
  const day = 86_400
  for (let i = 0; i < 40; i++) await stores.queue.add(0, jobOf([row((40 + (i % 3)) * day + i), row(i)]))
  await Promise.all([workerFor(t, stores), workerFor(t, stores)])
  t.equal(await drained(stores), 0)
  t.equal((await history()).length, 80)
})

test('heartbeats of a deleted monitor are skipped and counted, their neighbours are stored', async (t) => {
  const { stores, tenant, row, write, history, counted } = await sceneOf(t)
  const key = await keyOf(stores, await tenant.addMonitor())
  await stores.db.query('delete from monitors where key = $1', [key])
  await write([row(3), row(2, { key }), row(1)], [row(1, { key })])
  t.equal((await history()).length, 2)
  t.equal(await counted(SKIPPED), 2)
  t.same(await stores.db.query('select 1 from heartbeats where monitor_key = $1', [key]), [])
})

test('monitors deleted while their heartbeats are written disturb nobody', async (t) => {
  const { stores, tenant, row, history } = await sceneOf(t)
  for (let i = 0; i < 20; i++) {
    const key = await keyOf(stores, await tenant.addMonitor())
    const statuses = (['up', 'down'] as const).map((status, n) => row(50 - n, { key, status }))
    await Promise.all([
      stores.queue.add(0, jobOf([...statuses, row(100 + i)])),
      stores.db.transaction((tx) => tx.query('delete from monitors where key = $1', [key]))
    ])
  }
  t.equal(await drained(stores), 0)
  t.equal((await history()).length, 20)
})

test('two workers at once on the same monitors lose nothing, double nothing and agree on every state', async (t) => {
  const { stores, tenant, now, row } = await sceneOf(t, { idle: true })
  const keys = await Promise.all(Array.from({ length: 10 }, async () => keyOf(stores, await tenant.addMonitor())))
  const jobs = Array.from({ length: 2 * CONCURRENCY + 20 }, (_, job) =>
    keys.map((_, i) => {
      // Every job touches every monitor, each from another one on, and every third row was in an earlier job.
      const age = 1 + ((i + job) % 3 === 0 ? job >> 1 : job) / 8
      return row(age, { key: keys[(i + job) % keys.length] as number, status: age % 2 === 0 ? 'up' : 'down' })
    })
  )
  const identities = new Set(jobs.flat().map(({ key, timestamp }) => `${key} ${timestamp}`))
  const metrics = [createMetrics(), createMetrics()]
  const workers = await Promise.all(metrics.map((own) => workerFor(t, stores, own)))
  await stores.db.transaction(async (tx) => {
    await tx.query('select from monitor_states for update')
    for (const rows of jobs) await stores.queue.add(0, jobOf(rows))
    const held = async () => (await stores.queue.counts()).active === 2 * CONCURRENCY
    await waitFor(held, { what: 'both workers hold all the jobs that they take', timeoutMs: 20_000 })
  })
  t.equal(await drained(stores), 0, 'no dead letter')
  const [{ count } = { count: 0 }] = await stores.db.query<{ count: number }>('select count(*) from heartbeats')
  t.equal(count, identities.size)
  for (const key of keys)
    t.match(await stateOf(stores, key), { state: 'down', last_heartbeat_at: new Date(now - 1000) })
  await Promise.all(workers.map((worker) => worker.stop()))
  const server = 'select deadlocks from pg_stat_database where datname = current_database()'
  t.match(await stores.db.query(server), [{ deadlocks: 0 }], 'and never waited for each other in a circle')
  for (const own of metrics) t.match(await own.text(), /pulsegate_worker_rows_total\{path="\w+"\} [1-9]/, 'both worked')
})

test('after three groups with duplicates the next ones are merged straight away, for a while', async (t) => {
  const { row, write, counted, history } = await sceneOf(t)
  await write([row(10)], [row(10)], [row(10)])
  t.equal(await counted(COPIED), 1)
  t.equal(await counted(MERGED), 2)
  await write([row(9)], [row(9)], [row(10)], [row(10)], [row(8)])
  t.equal(await counted(COPIED), 2, 'a group without a duplicate breaks the row')
  t.equal(await counted(MERGED), 6, 'the last one was new, and merged')
  for (let i = 0; i < 32; i++) await write([row(1000 + i)])
  t.equal(await counted(MERGED), 37)
  t.equal(await counted(COPIED), 3, 'then copied again')
  t.equal((await history()).length, 35)
})

test('messages of any script come back as they were, on both paths', async (t) => {
  const { row, write, history } = await sceneOf(t)
  const texts = [
    'slow ☃',
    '𝄞'.repeat(2000),
    '☃'.repeat(2000),
    '',
    ' \t\r\n\u0001\u007f ',
    `'"\\\\N \\. \\\n;--`,
    'e\u0301 is not é',
    '\u202eback to front\u202c',
    '\ufeff\uffff',
    '👩‍👩‍👧‍👦'
  ]
  const rows = texts.map((message, i) => row(100 + i, { message }))
  await write(rows)
  // The first of these is there already, so the whole job is merged.
  await write([row(100), ...texts.map((message, i) => row(50 + i, { message }))])
  const messages = (await history()).map(({ message }) => message)
  t.same(messages, [...texts.toReversed(), ...texts.toReversed()])
})

test('half a surrogate pair, which no database can store, becomes the replacement character', async (t) => {
  const { row, write, history } = await sceneOf(t)
  await write([row(2, { message: 'a\ud800b' }), row(1, { message: '\udc00' })])
  t.same(
    (await history()).map(({ message }) => message),
    ['a\ufffdb', '\ufffd']
  )
})

test('latencies come back to the last bit, and none as none', async (t) => {
  const { row, write, history } = await sceneOf(t)
  const latencies = [null, 0, 1e300, 5e-324, Number.MAX_VALUE, 0.1 + 0.2, 12.5, 2 ** 53]
  await write(latencies.map((latency, i) => row(100 + i, { latency })))
  await write([row(100), ...latencies.map((latency, i) => row(50 + i, { latency }))])
  const read = (await history()).map(({ latency }) => latency)
  t.same(read, [...latencies.toReversed(), ...latencies.toReversed()])
})

test('times come back to the millisecond', async (t) => {
  const { now, row, write, history } = await sceneOf(t)
  const rows = Array.from({ length: 50 }, (_, i) => row(i / 1000 + i, { receivedAt: now - i }))
  await write(rows)
  t.same(
    (await history()).map(({ timestamp, received_at }) => [+timestamp, +received_at]).reverse(),
    rows.map(({ timestamp, receivedAt }) => [timestamp, receivedAt])
  )
})
