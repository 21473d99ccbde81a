import { fileURLToPath } from 'node:url'
import { bucketSpan, summarize } from '../api/history/buckets.ts'
import { connectDb, type Database } from '../shared/db.ts'
import { StartupError } from '../shared/env.ts'
import { createLog } from '../shared/log.ts'
import { type HistoryPage, type HistoryRow, listHeartbeats } from '../shared/store/heartbeats.ts'
import { findMonitor } from '../shared/store/monitors.ts'
import { rollUp } from '../worker/rollup.ts'
import { readConfig } from './config.ts'
import { type Dropping, dropGoals, dropRatio, measureDrop, timed } from './drop.ts'
import { type FleetMonitor, readFleetMonitors } from './fleet.ts'
import { type Goal, within } from './goal.ts'
import { DAY_MS, loadHistory, loadRollups, MONITORS, PER_DAY, ROLLED_MONITORS } from './history-load.ts'
import { median } from './measure.ts'
import { checkpoint, type Ground, prepareGround } from './setup.ts'

/**
 * `node dist/bench/history.js [days]`: reads, rolls up and drops days of 10 million rows; five days, if nothing else is said,
 * are 50 million. Prints what it measured. Loading takes a minute or two a day.
 */

const DAYS = 5
const RUNS = 100
const PAGE = 1000

export interface HistoryFigures {
  rows: number
  /** Milliseconds, medians. */
  rawOurs: number
  rawBare: number
  hours: number
  days: number
  drop: Dropping
  /** Rolling up one bucket of 5 minutes of all monitors of the fleet. */
  rollBucket: number
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

const BUCKETS = { '1h': 90 * 24, '1d': 90 } as const

/** A summary of 90 days: uptime, percentiles, and a bucket for each hour or day. */
async function readRollups(db: Database, api: Database, now: number, rollup: keyof typeof BUCKETS): Promise<number> {
  const monitors = await db.query<{ id: string; organization_id: string }>(
    'select id, organization_id from monitors order by key limit $1',
    [ROLLED_MONITORS]
  )
  return medianOf(async (run) => {
    const { id, organization_id: organizationId } = monitors[run] as (typeof monitors)[number]
    await api.tenant(organizationId, async (tx) => {
      const monitor = await findMonitor(tx, organizationId, id)
      if (monitor === undefined) throw new Error('a monitor of the fleet was not found')
      const scope = { organizationId, monitor, rollup, from: now - 90 * DAY_MS, to: now, now }
      const { begin, end } = await bucketSpan(tx, scope)
      const { buckets } = await summarize(tx, scope, begin, end)
      if (buckets.length !== BUCKETS[rollup]) throw new Error(`${buckets.length} buckets`)
    })
  })
}

/** Loads `days` of heartbeats up to the last midnight, and drops the first of them at the end. */
export async function measureHistory(ground: Ground, days = DAYS): Promise<HistoryFigures> {
  await loadHistory(ground.db, days)
  return measureLoaded(ground, days)
}

async function measureLoaded({ db, databaseUrl, dir }: Ground, days: number): Promise<HistoryFigures> {
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
    const rawBare = await readBare(db, chosen, from, to)
    const rawOurs = await readOurs(api, chosen, from, to)
    const summaries = {
      hours: await readRollups(db, api, midnight, '1h'),
      days: await readRollups(db, api, midnight, '1d')
    }
    const drop = await measureDrop(db, { day: today - days, dir, keyOf: (run) => chosen(run % RUNS).key })
    // No hour ends with it.
    const bucket = midnight - 600_000
    // As the worker would have noted it: the heartbeats were loaded past it.
    await db.query('update monitor_states set last_record_at = $1 where monitor_key = any($2::bigint[])', [
      new Date(midnight),
      monitors.map(({ key }) => key)
    ])
    await db.query('update rollup_state set closed_until = $1, rolled_until = $1', [new Date(bucket)])
    const rollBucket = await timed(() => rollUp({ db, clock: () => bucket + 320_000 }))
    return { rows: days * MONITORS * PER_DAY, rawOurs, rawBare, ...summaries, drop, rollBucket }
  } finally {
    await api.stop()
  }
}

/** What is wanted of history, and what was measured. */
export function historyGoals(figures: HistoryFigures): Goal[] {
  const ms = (value: number) => `${value.toFixed(1)} ms`
  const { rows, rawOurs, rawBare, hours, days, drop, rollBucket } = figures
  return [
    {
      what: `one monitor’s 24 h of raw heartbeats out of ${(rows / 1e6).toFixed(0)} million rows, of the bare SQL’s time`,
      wanted: '≤ 1.5',
      measured: `${(rawOurs / rawBare).toFixed(2)} (${ms(rawOurs)}, bare ${ms(rawBare)})`,
      met: rawOurs / rawBare <= 1.5
    },
    within('a summary of 90 days with a bucket for each hour', 20, hours),
    within('a summary of 90 days with a bucket for each day', 20, days),
    ...dropGoals(drop),
    within(
      `rolling up five minutes of ${MONITORS.toLocaleString('en-US')} monitors, every five minutes`,
      30_000,
      rollBucket
    )
  ]
}

async function main(): Promise<void> {
  const ground = await prepareGround(readConfig())
  try {
    const figures = await measureHistory(ground, Number(process.argv[2] ?? DAYS))
    const lines = historyGoals(figures).map(({ what, wanted, measured }) => [what, wanted, measured])
    for (const line of [...lines, dropRatio(figures.drop)]) process.stdout.write(`${line.join(' | ')}\n`)
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
