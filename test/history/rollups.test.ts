import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { type Test, test } from 'tap'
import { type Bucket, summarize } from '../../api/history/buckets.ts'
import { RECORD_STATUSES, type RecordStatus } from '../../shared/protocol/heartbeat.ts'
import { BUCKET_MS, ROLLUPS, type Rollup } from '../../shared/store/rollups.ts'
import { mergeSpans, rollUp } from '../../worker/rollup.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { drained, jobOf, keyOf } from '../support/jobs.ts'
import { beginRollups, organizationOf, putHeartbeats, type RawBeat, rollupsOf } from '../support/raw-history.ts'
import { createTenant } from '../support/tenant.ts'

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]
/** Midnight, three days ago. */
const START = Math.floor(Date.now() / DAY) * DAY - 3 * DAY

async function sceneOf(t: Test, monitors = 1) {
  const stores = await openStores(t)
  const tenant = await createTenant(stores.db, stores.secrets)
  const keys: number[] = []
  for (let i = 0; i < monitors; i++) keys.push(await keyOf(stores, await tenant.addMonitor()))
  await beginRollups(stores, START)
  const rollUntil = (until: number) => rollUp({ db: stores.db, clock: () => until + MINUTE })
  return { stores, tenant, keys, key: keys[0] as number, rollUntil }
}

/** The heartbeats themselves, by bucket. */
function bucketsOf(beats: readonly RawBeat[], step: number): Map<number, RawBeat[]> {
  const buckets = new Map<number, RawBeat[]>()
  for (const beat of beats) {
    const at = Math.floor(beat.timestamp / step) * step
    buckets.set(at, [...(buckets.get(at) ?? []), beat])
  }
  return buckets
}

function near(a: number, b: number, share: number): boolean {
  // What is told is rounded to a thousandth.
  return Math.abs(a - b) <= share * Math.abs(b) + 0.000501
}

/** Is what is told of a bucket or a window what these heartbeats say? */
function sameAs({ heartbeats, latency }: Pick<Bucket, 'heartbeats' | 'latency'>, beats: readonly RawBeat[]): boolean {
  const counts = RECORD_STATUSES.map((one) => beats.filter(({ status = 'up' }) => status === one).length)
  if (RECORD_STATUSES.some((status, i) => heartbeats[status] !== counts[i])) return false
  const sorted = beats
    .flatMap(({ status, latency = 1 }) => (status === 'up' || status === 'degraded' ? (latency ?? []) : []))
    .sort((a, b) => a - b)
  if (latency === null || sorted.length === 0) return latency === null && sorted.length === 0
  const exact = sorted.reduce((total, one) => total + one, 0) / sorted.length
  const { count, mean, min, max, p50, p95, p99 } = latency
  if (count !== sorted.length || min !== sorted[0] || max !== sorted.at(-1) || !near(mean, exact, 1e-9)) return false
  const shares = [0.5, 0.95, 0.99]
  return [p50, p95, p99].every((told, i) => {
    const wanted = sorted[Math.ceil((shares[i] as number) * sorted.length) - 1] as number
    // What is quicker than a hundredth of a millisecond counts as that.
    return near(told, wanted, 0.0201) || (wanted <= 0.01 && told <= 0.01)
  })
}

const beatsArbitrary = fc.uniqueArray(
  fc.record({
    timestamp: fc.integer({ min: START, max: START + 2 * DAY + 90 * MINUTE }),
    status: fc.constantFrom<RecordStatus>(...RECORD_STATUSES),
    latency: fc.option(
      fc.oneof(fc.constant(0), fc.double({ min: 0, max: 100_000, noNaN: true }), fc.integer({ min: 1, max: 900 }))
    )
  }),
  { selector: (beat) => beat.timestamp, maxLength: 300 }
)

test('every layer says what its heartbeats say, and every window too, rolled up or not yet', async (t) => {
  const { stores, tenant } = await sceneOf(t)
  const { db } = stores
  const { organizationId } = tenant
  const end = START + 3 * DAY
  const [rolls, hours] = [fc.integer({ min: 0, max: 2 * 24 * 12 + 18 }), fc.integer({ min: 0, max: 50 })]
  await fc.assert(
    fc.asyncProperty(beatsArbitrary, rolls, hours, async (beats, rolled, hour) => {
      const key = await keyOf(stores, await tenant.addMonitor())
      await beginRollups(stores, START)
      await putHeartbeats(stores, key, beats)
      await rollUp({ db, clock: () => START + rolled * 5 * MINUTE + MINUTE })
      for (const rollup of ROLLUPS) {
        const step = BUCKET_MS[rollup]
        const begin = Math.floor((START + hour * HOUR) / step) * step
        const monitor = { key, state: 'up' as const, created_at: new Date(START) }
        const scope = { organizationId, monitor, rollup, from: begin, to: end, now: end }
        const { whole, buckets } = await summarize(db, scope, begin, end)
        const wanted = beats.filter(({ timestamp }) => timestamp >= begin)
        const byBucket = bucketsOf(wanted, step)
        if (!sameAs(whole, wanted)) return false
        if (!buckets.every((bucket) => sameAs(bucket, byBucket.get(bucket.at) ?? []))) return false
      }
      return true
    }),
    { numRuns: 25 }
  )
})

test('the percentiles of buckets written without them are those of their histograms', async (t) => {
  const { stores, tenant, key, rollUntil } = await sceneOf(t)
  const { db } = stores
  const { organizationId } = tenant
  await putHeartbeats(
    stores,
    key,
    Array.from({ length: 100 }, (_, i) => ({ timestamp: START + i, latency: i }))
  )
  await rollUntil(START + DAY)
  const monitor = { key, state: 'up' as const, created_at: new Date(START) }
  const scope = { organizationId, monitor, rollup: '1h' as const, from: START, to: START + HOUR, now: START + DAY }
  const read = () => summarize(db, scope, START, START + HOUR)
  const told = await read()
  t.match(told.buckets, [{ latency: { p50: 49.194, p99: 97.111 } }])
  await db.query('update rollups_1h set p50_slot = 0, p95_slot = 0, p99_slot = 0')
  t.match(await read(), { buckets: [{ latency: { p50: 0.01 } }] }, 'they are not read at all otherwise')
  for (const before of ['null', '99']) {
    await db.query(`update rollups_1h set ranked_n = ${before}`)
    t.same(await read(), told)
  }
})

test('rolling up again changes nothing, and any number of workers do it once', async (t) => {
  const { stores, keys, rollUntil } = await sceneOf(t, 3)
  for (const key of keys) {
    const beats = Array.from({ length: 600 }, (_, i) => ({ timestamp: START + i * 5 * MINUTE + 7, latency: i }))
    await putHeartbeats(stores, key, beats)
  }
  await Promise.all([1, 2, 3].map(() => rollUntil(START + 2 * DAY)))
  await rollUntil(START + 2 * DAY)
  const before = await Promise.all(ROLLUPS.map((rollup) => rollupsOf(stores, keys[1] as number, rollup)))
  t.same(
    before.map((rows) => rows.length),
    [576, 48, 2]
  )
  await beginRollups(stores, START)
  await rollUntil(START + 2 * DAY)
  t.same(await Promise.all(ROLLUPS.map((rollup) => rollupsOf(stores, keys[1] as number, rollup))), before)
})

test('a heartbeat that comes late is in the rollups of every layer after the next round', async (t) => {
  const { stores, key, rollUntil } = await sceneOf(t)
  await workerFor(t, stores)
  await putHeartbeats(stores, key, [{ timestamp: START + HOUR, latency: 10 }])
  await rollUntil(START + 2 * DAY)
  const sourceId = randomUUID()
  const late = [START + 3 * MINUTE, START + HOUR + 1, START + 2 * DAY - 1]
  const rows = late.map((timestamp) => ({ key, sourceId, timestamp, receivedAt: Date.now(), latency: 30 }))
  await stores.queue.add(0, jobOf(rows))
  t.equal(await drained(stores), 0)
  await rollUntil(START + 2 * DAY)
  const told = async (rollup: Rollup) =>
    (await rollupsOf(stores, key, rollup)).map((row) => [(row.at.getTime() - START) / MINUTE, row.up, row.latency_sum])
  t.same(await told('5m'), [
    [0, 1, 30],
    [60, 2, 40],
    [2875, 1, 30]
  ])
  t.same(await told('1h'), [
    [0, 1, 30],
    [60, 2, 40],
    [2820, 1, 30]
  ])
  t.same(await told('1d'), [
    [0, 3, 70],
    [1440, 1, 30]
  ])
  t.same(await stores.db.query('select * from rollup_dirty'), [], 'nothing is left to be done')
})

test('a heartbeat on time costs no note', async (t) => {
  const { stores, key } = await sceneOf(t)
  await workerFor(t, stores)
  await rollUp({ db: stores.db, clock: Date.now })
  const now = Date.now()
  await stores.queue.add(0, jobOf([{ key, sourceId: randomUUID(), timestamp: now, receivedAt: now }]))
  t.equal(await drained(stores), 0)
  t.same(await stores.db.query('select * from rollup_dirty'), [])
})

test('a bucket waits for the writers that began before it was closed', async (t) => {
  const { stores, key, rollUntil } = await sceneOf(t)
  await putHeartbeats(stores, key, [{ timestamp: START }])
  let rolled: Promise<void> | undefined
  await stores.db.transaction(async (tx) => {
    await tx.query('update monitor_states set state_reason = state_reason where monitor_key = $1', [key])
    const [state] = await tx.query<{ closed_until: Date }>('select closed_until from rollup_state')
    t.equal(state?.closed_until.getTime(), START)
    rolled = rollUntil(START + HOUR)
    // Closed meanwhile, which this transaction has not seen.
    for (let closed = START; closed === START; ) {
      const [row] = await stores.db.query<{ closed_until: Date }>('select closed_until from rollup_state')
      closed = row?.closed_until.getTime() ?? 0
    }
    t.same(await rollupsOf(stores, key, '5m'), [])
    await tx.query(
      `insert into heartbeats (monitor_key, "timestamp", latency, received_at, source_id, organization_id, status)
       values ($1, $2, 5, $2, $3, $4, 0)`,
      [key, new Date(START + MINUTE), randomUUID(), await organizationOf(stores, key)]
    )
  })
  await rolled
  t.match(await rollupsOf(stores, key, '5m'), [{ up: 2 }])
})

test('latencies beyond all reason spoil nothing', async (t) => {
  const { stores, key, rollUntil } = await sceneOf(t)
  const latencies = [0, 5e-324, 1.7976931348623157e308, 1.7976931348623157e308, null]
  await putHeartbeats(
    stores,
    key,
    latencies.map((latency, i) => ({ timestamp: START + i, latency }))
  )
  await rollUntil(START + DAY)
  t.match(await rollupsOf(stores, key, '1d'), [{ up: 5, latency_n: 4, latency_max: 1e15, latency_sum: 2e15 }])
})

test('spans that touch become one, and end with what is rolled up', (t) => {
  const span = (monitorKey: number, from: number, to: number) => ({ monitorKey, from: START + from, to: START + to })
  const spans = [
    span(2, 0, 5 * MINUTE),
    span(1, HOUR, HOUR + 5 * MINUTE),
    span(1, 0, 5 * MINUTE),
    span(1, 2 * HOUR, 9 * HOUR)
  ]
  t.same(mergeSpans(spans, '1h', START + 4 * HOUR + MINUTE), [span(1, 0, 4 * HOUR), span(2, 0, HOUR)])
  t.same(mergeSpans(spans, '1d', START + DAY - 1), [])
  t.end()
})
