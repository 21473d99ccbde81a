import type { Queryable } from '../../shared/db.ts'
import { coverByMaintenance, type StateSpan } from '../../shared/state-seconds.ts'
import { maintenanceSpans } from '../../shared/store/maintenance.ts'
import type { MonitorRow } from '../../shared/store/monitors.ts'
import {
  BUCKET_MS,
  findFirstBucket,
  listRollups,
  type Rollup,
  type RollupRow,
  readSlots
} from '../../shared/store/rollups.ts'
import { listStateSpans } from '../../shared/store/transitions.ts'
import { type Figures, figuresOf } from './figures.ts'

/** What is asked of a monitor's history. Times are epoch ms. */
export interface Scope {
  organizationId: string
  monitor: Pick<MonitorRow, 'key' | 'state' | 'created_at'>
  rollup: Rollup
  from: number
  to: number
  now: number
}

export interface Bucket extends Figures {
  at: number
}

function ceilTo(step: number, at: number): number {
  return Math.ceil(at / step) * step
}

function floorTo(step: number, at: number): number {
  return Math.floor(at / step) * step
}

/**
 * First and last time of buckets that begin in the window, from the monitor's first sign of life to now: [begin, end). An empty
 * span when there are none.
 */
export async function bucketSpan(db: Queryable, scope: Scope): Promise<{ begin: number; end: number }> {
  const { organizationId, monitor, rollup, now } = scope
  const step = BUCKET_MS[rollup]
  const from = Math.max(0, ceilTo(step, scope.from))
  const end = Math.min(ceilTo(step, scope.to), floorTo(step, now) + step)
  if (from >= end) return { begin: from, end: from }
  const first = await findFirstBucket(db, { organizationId, monitorKey: monitor.key, rollup, from, to: end })
  const born = Math.min(monitor.created_at.getTime(), first ?? Number.POSITIVE_INFINITY)
  return { begin: Math.max(from, floorTo(step, born)), end }
}

interface Facts {
  rows: RollupRow[]
  spans: StateSpan[]
}

/** Everything that is known of [from, to), which begins and ends with buckets. */
async function readFacts(db: Queryable, scope: Scope, from: number, to: number): Promise<Facts> {
  const { organizationId, monitor, rollup, now } = scope
  const rows = await listRollups(db, { organizationId, monitorKey: monitor.key, rollup, from, to })
  const states = await listStateSpans(db, { organizationId, ...monitor }, from, Math.min(to, now))
  const windows = await maintenanceSpans(db, monitor.key, from, to)
  return { rows, spans: coverByMaintenance(states, windows) }
}

/** Every bucket of [begin, end), oldest first, those in which nothing happened too. */
function cutBuckets({ rows, spans }: Facts, rollup: Rollup, begin: number, end: number): Bucket[] {
  const step = BUCKET_MS[rollup]
  const byBucket = new Map<number, RollupRow[]>()
  for (const row of rows) {
    const known = byBucket.get(row.at)
    if (known === undefined) byBucket.set(row.at, [row])
    else known.push(row)
  }
  const buckets: Bucket[] = []
  let next = 0
  for (let at = begin; at < end; at += step) {
    while (next < spans.length && (spans[next]?.to ?? 0) <= at) next++
    let last = next
    while (last < spans.length && (spans[last]?.from ?? 0) < at + step) last++
    buckets.push({ at, ...figuresOf(byBucket.get(at) ?? [], spans.slice(next, last), at, at + step) })
  }
  return buckets
}

/** The buckets of [begin, end), which begins and ends with buckets. */
export async function readBuckets(db: Queryable, scope: Scope, begin: number, end: number): Promise<Bucket[]> {
  return begin >= end ? [] : cutBuckets(await readFacts(db, scope, begin, end), scope.rollup, begin, end)
}

/** The same with what they say together. */
export async function summarize(
  db: Queryable,
  scope: Scope,
  begin: number,
  end: number
): Promise<{ whole: Figures; buckets: Bucket[] }> {
  const { organizationId, monitor, rollup } = scope
  const facts = begin >= end ? { rows: [], spans: [] } : await readFacts(db, scope, begin, end)
  const slots = await readSlots(db, { organizationId, monitorKey: monitor.key, rollup, from: begin, to: end })
  const whole = figuresOf(facts.rows, facts.spans, begin, end, slots)
  return { whole, buckets: cutBuckets(facts, rollup, begin, end) }
}
