import type { Queryable } from '../db.ts'
import { latencySql, RANKS, type Ranks, ranksSql, type Slots, slotSql } from '../latency-slots.ts'
import { RECORD_STATUSES, type RecordStatus } from '../protocol/heartbeat.ts'
import { readRollupState } from './rollup-state.ts'

/** The layers that are made of heartbeats, the finest first. */
export const ROLLUPS = ['5m', '1h', '1d'] as const
export type Rollup = (typeof ROLLUPS)[number]

/** Length of a bucket; buckets begin at multiples of it (UTC). */
export const BUCKET_MS: Readonly<Record<Rollup, number>> = { '5m': 300_000, '1h': 3_600_000, '1d': 86_400_000 }

/** Part of one monitor's history, [from, to), epoch ms. */
export interface Span {
  monitorKey: number
  from: number
  to: number
}

function tableOf(rollup: Rollup): string {
  return `rollups_${rollup}`
}

/** As an SQL interval; in hours, for a day of an interval may have 23. */
function stepOf(rollup: Rollup): string {
  return `interval '${BUCKET_MS[rollup] / 1000} seconds'`
}

function status(name: RecordStatus): number {
  return RECORD_STATUSES.indexOf(name)
}

const EPOCH = "'1970-01-01 00:00Z'::timestamptz"
const COUNTS = 'up, down, degraded, started, logged, latency_n, latency_sum, latency_min, latency_max'
const RANKED = Object.keys(RANKS).join(', ')
const COLUMNS = `monitor_key, at, organization_id, ${COUNTS}, latency_slots, latency_counts, ${RANKED}, ranked_n`
/** What stands for the latency of a heartbeat: only who answered took a time that means something. */
const COUNTED = `case when status in (${status('up')}, ${status('degraded')}) then ${latencySql('latency')} end`

/** Sums of rows that have the columns of COUNTS. */
const SUMS = `sum(up)::int as up, sum(down)::int as down, sum(degraded)::int as degraded, sum(started)::int as started,
  sum(logged)::int as logged, sum(latency_n)::int as latency_n, sum(latency_sum) as latency_sum,
  min(latency_min) as latency_min, max(latency_max) as latency_max`

/**
 * SQL: heartbeats of one monitor in buckets of `step`. `monitorKey`, `from` and `to` are expressions. Runs along the primary
 * key of `heartbeats`; first by bucket and slot, then by bucket. `bounds`: more conditions.
 */
function fromHeartbeats(step: string, monitorKey: string, from: string, to: string, bounds = ''): string {
  return `
    select at, ${SUMS},
      coalesce(array_agg(slot order by slot) filter (where slot is not null), '{}') as latency_slots,
      coalesce(array_agg(latency_n order by slot) filter (where slot is not null), '{}') as latency_counts
    from (
      select at, ${slotSql('counted')} as slot, count(*) filter (where status = ${status('up')}) as up,
        count(*) filter (where status = ${status('down')}) as down,
        count(*) filter (where status = ${status('degraded')}) as degraded,
        count(*) filter (where status = ${status('start')}) as started,
        count(*) filter (where status = ${status('log')}) as logged,
        count(counted)::int as latency_n, sum(counted) as latency_sum, min(counted) as latency_min, max(counted) as latency_max
      from (
        select date_bin(${step}, "timestamp", ${EPOCH}) as at, status, ${COUNTED} as counted
        from heartbeats
        where monitor_key = ${monitorKey} and "timestamp" >= ${from} and "timestamp" < ${to} ${bounds}
      ) beats
      group by 1, 2
    ) slots
    group by at`
}

/** SQL: rows of a finer layer of one monitor in buckets of `step`. */
function fromRollup(finer: Rollup, step: string, monitorKey: string, from: string, to: string): string {
  return `
    select b.*, s.latency_slots, s.latency_counts
    from (
      select date_bin(${step}, at, ${EPOCH}) as at, ${SUMS}
      from ${tableOf(finer)} where monitor_key = ${monitorKey} and at >= ${from} and at < ${to}
      group by 1
    ) b cross join lateral (
      select coalesce(array_agg(slot order by slot), '{}') as latency_slots,
        coalesce(array_agg(n order by slot), '{}') as latency_counts
      from (
        select u.slot, sum(u.n)::int as n
        from ${tableOf(finer)} f cross join lateral unnest(f.latency_slots, f.latency_counts) as u (slot, n)
        where f.monitor_key = ${monitorKey} and f.at >= greatest(b.at, ${from}) and f.at < least(b.at + ${step}, ${to})
        group by u.slot
      ) merged
    ) s`
}

const UPDATES = COLUMNS.split(', ')
  .slice(2)
  .map((column) => `${column} = excluded.${column}`)
  .join(', ')

function writeSql(rollup: Rollup): string {
  const place = ['w.key', 'w.from_at', 'w.to_at'] as const
  const step = stepOf(rollup)
  // The bounds of all spans, as plain parameters, let the planner leave out the days beyond them.
  const bounds = 'and "timestamp" >= $4 and "timestamp" < $5'
  const source =
    rollup === '5m' ? fromHeartbeats(step, ...place, bounds) : fromRollup(rollup === '1h' ? '5m' : '1h', step, ...place)
  return `
    insert into ${tableOf(rollup)} (${COLUMNS})
    select w.key, r.at, w.organization_id, ${COUNTS.split(', ')
      .map((column) => `r.${column}`)
      .join(', ')}, r.latency_slots, r.latency_counts, ${RANKED}, r.latency_n
    from (
      select m.key, m.organization_id, u.from_at, u.to_at
      from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[]) as u (key, from_at, to_at)
        join monitors m on m.key = u.key
    ) w cross join lateral (${source}) r
      cross join lateral (${ranksSql('r.latency_slots', 'r.latency_counts', 'r.latency_n')}) p
    on conflict (monitor_key, at) do update set ${UPDATES}`
}

/**
 * System-wide: writes the buckets of these spans anew, from heartbeats or from the next finer layer. Spans begin and end with
 * buckets, and no two of them may share one. Doing it again changes nothing; monitors that are gone are passed over.
 */
export async function writeRollups(tx: Queryable, rollup: Rollup, spans: readonly Span[]): Promise<void> {
  if (spans.length === 0) return
  const values: unknown[] = [
    spans.map(({ monitorKey }) => monitorKey),
    spans.map(({ from }) => new Date(from)),
    spans.map(({ to }) => new Date(to))
  ]
  if (rollup === '5m') {
    values.push(new Date(spans.reduce((least, { from }) => Math.min(least, from), Number.POSITIVE_INFINITY)))
    values.push(new Date(spans.reduce((most, { to }) => Math.max(most, to), 0)))
  }
  await tx.query(writeSql(rollup), values)
}

/**
 * One bucket, or a part of one: what two sources say of a bucket adds up. A whole one tells its percentiles (RANKS), all else
 * its histogram.
 */
export interface RollupRow extends Ranks {
  /** Epoch ms. */
  at: number
  up: number
  down: number
  degraded: number
  started: number
  logged: number
  latency_n: number
  latency_sum: number | null
  latency_min: number | null
  latency_max: number | null
  latency_slots: number[] | null
  latency_counts: number[] | null
}

/** Where the rows of a window come from: `[from, to)` of each layer, epoch ms. */
interface Source {
  layer: Rollup | 'raw'
  from: number
  to: number
}

/**
 * The window in as few rows as can be, of this layer and finer ones: a bucket is in its layer when it is over, and both ends
 * are made of finer ones.
 */
function sourcesOf(rollup: Rollup | undefined, from: number, to: number, rolledUntil: number): Source[] {
  if (from >= to) return []
  if (rollup === undefined) return [{ layer: 'raw', from, to }]
  const step = BUCKET_MS[rollup]
  const finer = ROLLUPS[ROLLUPS.indexOf(rollup) - 1]
  const begin = Math.ceil(from / step) * step
  const end = Math.floor(Math.min(to, rolledUntil) / step) * step
  if (begin >= end) return sourcesOf(finer, from, to, rolledUntil)
  return [
    ...sourcesOf(finer, from, begin, rolledUntil),
    { layer: rollup, from: begin, to: end },
    ...sourcesOf(finer, end, to, rolledUntil)
  ]
}

interface Window {
  organizationId: string
  monitorKey: number
  rollup: Rollup
  /** Begin and end with buckets. */
  from: number
  to: number
}

/** The window in parts, each the answer of `sqlOf`; organization and key are the first two parameters. */
async function partsOf(
  db: Queryable,
  { organizationId, monitorKey, from, to }: Omit<Window, 'rollup'>,
  coarsest: Rollup,
  sqlOf: (layer: Source['layer'], begin: string, end: string) => string
): Promise<{ parts: string; values: unknown[] }> {
  const { rolledUntil } = await readRollupState(db)
  const values: unknown[] = [organizationId, monitorKey]
  const parts = sourcesOf(coarsest, from, to, rolledUntil).map((source) => {
    const begin = `$${values.push(new Date(source.from))}::timestamptz`
    const end = `$${values.push(new Date(source.to))}::timestamptz`
    return `(${sqlOf(source.layer, begin, end)})`
  })
  return { parts: parts.join(' union all '), values }
}

const NO_RANKS = Object.keys(RANKS)
  .map((column) => `null::smallint as ${column}`)
  .join(', ')

/** A monitor's buckets that hold heartbeats, in no order; one that is not over yet may come in parts. */
export async function listRollups(db: Queryable, window: Window): Promise<RollupRow[]> {
  const { rollup, from, to } = window
  if (from >= to) return []
  const { parts, values } = await partsOf(db, window, rollup, (layer, begin, end) => {
    if (layer !== rollup) {
      const finer =
        layer === 'raw'
          ? fromHeartbeats(stepOf(rollup), '$2', begin, end)
          : fromRollup(layer, stepOf(rollup), '$2', begin, end)
      return `select at, ${COUNTS}, ${NO_RANKS}, latency_slots, latency_counts from (${finer}) f`
    }
    const unlessRanked = (column: string) => `case when ranked_n = latency_n then null else ${column} end as ${column}`
    return `select at, ${COUNTS}, ${RANKED}, ${unlessRanked('latency_slots')}, ${unlessRanked('latency_counts')}
      from ${tableOf(rollup)} where monitor_key = $2 and at >= ${begin} and at < ${end}`
  })
  // Named by its organization once: the policies of all four tables ask for the same. The driver reads JSON and numbers far
  // quicker than arrays and dates.
  return db.query<RollupRow>(
    `select date_part('epoch', p.at) * 1000 as at, ${COUNTS}, ${RANKED}, to_json(latency_slots) as latency_slots, to_json(latency_counts) as latency_counts
     from monitors m cross join lateral (${parts}) p
     where m.organization_id = $1 and m.key = $2`,
    values
  )
}

/** The histogram of a whole window, which begins and ends with buckets of `rollup`. */
export async function readSlots(db: Queryable, window: Window): Promise<Slots> {
  const slots: Slots = new Map()
  if (window.from >= window.to) return slots
  const { parts, values } = await partsOf(db, window, '1d', (layer, begin, end) =>
    layer === 'raw'
      ? `select latency_slots, latency_counts from (${fromHeartbeats(stepOf('1d'), '$2', begin, end)}) f`
      : `select latency_slots, latency_counts from ${tableOf(layer)} where monitor_key = $2 and at >= ${begin} and at < ${end}`
  )
  const rows = await db.query<{ slot: number; n: number }>(
    `select u.slot, sum(u.n) as n
     from monitors m cross join lateral (${parts}) p cross join lateral unnest(latency_slots, latency_counts) as u (slot, n)
     where m.organization_id = $1 and m.key = $2 group by u.slot`,
    values
  )
  for (const { slot, n } of rows) slots.set(slot, n)
  return slots
}

/** Time (epoch ms) of the first bucket with heartbeats at or after `from` in this layer or a finer one, or null. */
export async function findFirstBucket(db: Queryable, { monitorKey, rollup, from }: Window): Promise<number | null> {
  const layers = ROLLUPS.slice(0, ROLLUPS.indexOf(rollup) + 1)
  const [row] = await db.query<{ at: Date | null }>(
    `select least(${layers
      .map((layer) => `(select min(at) from ${tableOf(layer)} where monitor_key = $1 and at >= $2)`)
      .join(', ')}, (select min("timestamp") from heartbeats where monitor_key = $1 and "timestamp" >= greatest($2,
      (select rolled_until from rollup_state)))) as at`,
    [monitorKey, new Date(from)]
  )
  return row?.at == null ? null : row.at.getTime()
}

/** System-wide: keys of monitors, ascending, that may have rows at or after `since` (epoch ms). */
export async function listRecentMonitorKeys(
  db: Queryable,
  { after, since, limit }: { after: number; since: number; limit: number }
): Promise<number[]> {
  const rows = await db.query<{ monitor_key: number }>(
    `select monitor_key from monitor_states
     where monitor_key > $1 and (last_heartbeat_at >= $2 or last_record_at >= $2) order by monitor_key limit $3`,
    [after, new Date(since), limit]
  )
  return rows.map(({ monitor_key }) => monitor_key)
}
