import { fileURLToPath } from 'node:url'
import { bucketSpan, summarize } from '../api/history/buckets.ts'
import { connectDb, type Database } from '../shared/db.ts'
import { StartupError } from '../shared/env.ts'
import { createLog } from '../shared/log.ts'
import { createHeartbeatDays, dropHeartbeatDays } from '../shared/store/heartbeat-days.ts'
import { type HistoryPage, type HistoryRow, listHeartbeats } from '../shared/store/heartbeats.ts'
import { findMonitor } from '../shared/store/monitors.ts'
import { rollUp } from '../worker/rollup.ts'
import { readConfig } from './config.ts'
import { type FleetMonitor, readFleetMonitors } from './fleet.ts'
import { median } from './measure.ts'
import { checkpoint, prepareGround } from './setup.ts'

/**
 * `node dist/bench/history.js [days]`: reads, rolls up and drops days of 10 million rows; five days, if nothing else is said,
 * are 50 million. Prints what it measured. Loading takes a minute or two a day.
 */

const DAY_MS = 86_400_000
const MONITORS = 7000
/** One heartbeat a minute: 7,000 monitors make ten million rows a day. */
const PER_DAY = 1440
const ROLLED_MONITORS = 200
const RUNS = 100
const PAGE = 1000

export interface HistoryFigures {
  rows: number
  /** Milliseconds, medians. */
  rawOurs: number
  rawBare: number
  rollup: number
  dropDay: number
  /** Rolling up one bucket of 5 minutes of all monitors of the fleet. */
  rollBucket: number
}

async function loadDay(db: Database, day: number, monitors: readonly FleetMonitor[]): Promise<void> {
  await createHeartbeatDays(db, [day])
  // By monitor, not by time: the index is built in order, which is most of what loading costs.
  await db.query(
    `insert into heartbeats (monitor_key, "timestamp", latency, received_at, source_id, organization_id, status)
     select m.key, t, 20 + random() * 100, t, m.source_id, m.organization_id, 0
     from unnest($1::bigint[], $2::uuid[], $3::uuid[]) as m (key, source_id, organization_id)
       cross join generate_series(0, $4::int - 1) as i
       cross join lateral (select $5::timestamptz + i * interval '1 minute' + (m.key % 60) * interval '1 second') as x (t)`,
    [
      monitors.map(({ key }) => key),
      monitors.map(({ agentId }) => agentId),
      monitors.map(({ organizationId }) => organizationId),
      PER_DAY,
      new Date(day * DAY_MS)
    ]
  )
}

/** 90 days of hours and days, each with a histogram of 40 slots. */
async function loadRollups(db: Database, until: number, monitors: readonly FleetMonitor[]): Promise<void> {
  for (const [table, hours] of [
    ['rollups_1h', 1],
    ['rollups_1d', 24]
  ] as const) {
    await db.query(
      `insert into ${table}
       select m.key, $3::timestamptz - i * interval '1 hour' * $4::int, m.organization_id, 60, 0, 0, 0, 0, 60, 4200, 20, 120,
         array(select generate_series(190, 229)::smallint), array(select 1 from generate_series(1, 40))
       from unnest($1::bigint[], $2::uuid[]) as m (key, organization_id) cross join generate_series(1, 90 * 24 / $4::int) as i`,
      [monitors.map(({ key }) => key), monitors.map(({ organizationId }) => organizationId), new Date(until), hours]
    )
  }
  await db.query('update rollup_state set closed_until = $1, rolled_until = $1', [new Date(until)])
}

async function medianOf(work: (run: number) => Promise<void>): Promise<number> {
  const times: number[] = []
  for (let run = 0; run < RUNS * 2; run++) {
    const began = performance.now()
    await work(run % RUNS)
    // The first half warms the cache: the same monitors come again.
    if (run >= RUNS) times.push(performance.now() - began)
  }
  return median(times, (time) => time)
}

type Chosen = (run: number) => FleetMonitor

/** All pages of a monitor's window, as the API reads them: by its role and under its policies. */
async function readPages(
  api: Database,
  { organizationId, key }: FleetMonitor,
  from: number,
  to: number
): Promise<void> {
  const window = { organizationId, monitorKey: key, from, to, status: null, order: 'desc' as const, limit: PAGE + 1 }
  let after: HistoryPage['after'] = null
  for (let more = true; more; ) {
    const page: HistoryPage = { ...window, after }
    const rows: HistoryRow[] = await api.tenant(organizationId, (tx) => listHeartbeats(tx, page))
    const last: HistoryRow | undefined = rows[PAGE - 1]
    more = rows.length > PAGE
    after = last === undefined ? null : { timestamp: last.timestamp.getTime(), sourceId: last.source_id }
  }
}

function readOurs(api: Database, chosen: Chosen, from: number, to: number): Promise<number> {
  return medianOf((run) => readPages(api, chosen(run), from, to))
}

function readBare(db: Database, chosen: Chosen, from: number, to: number): Promise<number> {
  return medianOf(async (run) => {
    await db.query(
      `select status, latency, "timestamp", received_at, source_id, message from heartbeats
       where monitor_key = $1 and "timestamp" >= $2 and "timestamp" < $3 order by "timestamp" desc`,
      [chosen(run).key, new Date(from), new Date(to)]
    )
  })
}

/** A summary of 90 days: uptime, percentiles, and a bucket for each day. */
async function readRollups(db: Database, api: Database, chosen: Chosen, now: number): Promise<number> {
  const ids = await db.query<{ key: number; id: string }>('select key, id from monitors')
  const idOf = new Map(ids.map(({ key, id }) => [key, id]))
  return medianOf(async (run) => {
    const { organizationId, key } = chosen(run % ROLLED_MONITORS)
    await api.tenant(organizationId, async (tx) => {
      const monitor = await findMonitor(tx, organizationId, idOf.get(key) ?? '')
      if (monitor === undefined) throw new Error('a monitor of the fleet was not found')
      const scope = { organizationId, monitor, rollup: '1d' as const, from: now - 90 * DAY_MS, to: now, now }
      const { begin, end } = await bucketSpan(tx, scope)
      const { buckets } = await summarize(tx, scope, begin, end)
      if (buckets.length !== 90) throw new Error(`${buckets.length} buckets`)
    })
  })
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

async function load(db: Database, days: number): Promise<void> {
  const monitors = await readFleetMonitors(db, MONITORS)
  const today = Math.floor(Date.now() / DAY_MS)
  for (let day = today - days; day < today; day++) {
    await loadDay(db, day, monitors)
    process.stdout.write(`loaded ${(MONITORS * PER_DAY * (day - today + days + 1)) / 1e6} million rows\n`)
  }
}

/** `days` of heartbeats up to the last midnight are there; the first of them is dropped at the end. */
export async function measureLoaded(db: Database, databaseUrl: string, days: number): Promise<HistoryFigures> {
  const api = connectDb({ url: databaseUrl, role: 'pulsegate_api', log: createLog('bench', 'error') })
  try {
    const monitors = await readFleetMonitors(db, MONITORS)
    const today = Math.floor(Date.now() / DAY_MS)
    const midnight = today * DAY_MS
    await loadRollups(db, midnight, monitors.slice(0, ROLLED_MONITORS))
    await db.query('vacuum (analyze) heartbeats')
    await checkpoint(db)
    // Two days take part, as at any time of a day.
    const [from, to] = [midnight - 1.5 * DAY_MS, midnight - 0.5 * DAY_MS]
    const chosen: Chosen = (run) => monitors[(run * 61) % monitors.length] as FleetMonitor
    const rolled: Chosen = (run) => monitors[run] as FleetMonitor
    const rawBare = await readBare(db, chosen, from, to)
    const rawOurs = await readOurs(api, chosen, from, to)
    const rollup = await readRollups(db, api, rolled, midnight)
    const dropDay = await timed(() => dropHeartbeatDays(db, today - days))
    // No hour ends with it.
    const bucket = midnight - 600_000
    await db.query('update rollup_state set closed_until = $1, rolled_until = $1', [new Date(bucket)])
    const rollBucket = await timed(() => rollUp({ db, clock: () => bucket + 320_000 }))
    return { rows: days * MONITORS * PER_DAY, rawOurs, rawBare, rollup, dropDay, rollBucket }
  } finally {
    await api.stop()
  }
}

/** Lines of a report: what, wanted, measured. */
export function historyLines(figures: HistoryFigures): string[][] {
  const ms = (value: number) => `${value.toFixed(1)} ms`
  const { rows, rawOurs, rawBare, rollup, dropDay, rollBucket } = figures
  return [
    [
      `one monitor's 24 h of raw heartbeats out of ${(rows / 1e6).toFixed(0)} million rows, of the bare SQL's time`,
      '≤ 1.5',
      `${(rawOurs / rawBare).toFixed(2)} (${ms(rawOurs)}, bare ${ms(rawBare)})`
    ],
    ['a summary of 90 days, with a bucket for each', '≤ 20 ms', ms(rollup)],
    ['dropping a day of 10 million rows', '≤ 100 ms', ms(dropDay)],
    ['rolling up five minutes of 7,000 monitors, among 100,000', '-', ms(rollBucket)]
  ]
}

async function main(): Promise<void> {
  const ground = await prepareGround(readConfig())
  try {
    const days = Number(process.argv[2] ?? 5)
    await load(ground.db, days)
    const figures = await measureLoaded(ground.db, ground.databaseUrl, days)
    for (const line of historyLines(figures)) process.stdout.write(`${line.join(' | ')}\n`)
  } finally {
    await ground.stop()
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await main()
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}
