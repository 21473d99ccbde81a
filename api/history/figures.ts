import type { RollupRowAnswer } from '../../shared/contract/heartbeats.ts'
import { addSlots, latencyIn, type Ranks, ranksOf, type Slots } from '../../shared/latency-slots.ts'
import { type StateSpan, secondsByState, uptimeOf } from '../../shared/state-seconds.ts'
import type { RollupRow } from '../../shared/store/rollups.ts'

/** What a bucket or a window says. */
export type Figures = Pick<RollupRowAnswer, 'heartbeats' | 'seconds' | 'uptime' | 'latency'>

function countsOf(rows: readonly RollupRow[]): Figures['heartbeats'] {
  const counts = { up: 0, down: 0, degraded: 0, start: 0, log: 0 }
  for (const row of rows) {
    counts.up += row.up
    counts.down += row.down
    counts.degraded += row.degraded
    counts.start += row.started
    counts.log += row.logged
  }
  return counts
}

/** To a thousandth of a millisecond: more is noise. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

/** The slots of the percentiles: told by a row that stands alone, or of the histograms of all. */
function ranksOfRows(rows: readonly RollupRow[]): Ranks {
  const [first] = rows
  if (rows.length === 1 && first !== undefined && first.latency_slots === null) return first
  const slots: Slots = new Map()
  for (const { latency_slots: own, latency_counts: counts } of rows) addSlots(slots, own ?? [], counts ?? [])
  return ranksOf(slots)
}

function latencyOf(rows: readonly RollupRow[], ranks: Ranks): Figures['latency'] {
  let [count, sum, min, max] = [0, 0, Number.POSITIVE_INFINITY, 0]
  for (const row of rows) {
    if (row.latency_n === 0) continue
    count += row.latency_n
    sum += row.latency_sum ?? 0
    min = Math.min(min, row.latency_min ?? min)
    max = Math.max(max, row.latency_max ?? max)
  }
  if (count === 0) return null
  const at = (slot: number | null) => rounded(slot === null ? max : latencyIn(slot, min, max))
  const { p50_slot: p50, p95_slot: p95, p99_slot: p99 } = ranks
  return { count, mean: rounded(sum / count), min, max, p50: at(p50), p95: at(p95), p99: at(p99) }
}

/** Adds up the rows of [from, to), with the time that the monitor spent in its states. `slots`: of all rows. */
export function figuresOf(
  rows: readonly RollupRow[],
  spans: readonly StateSpan[],
  from: number,
  to: number,
  slots?: Slots
): Figures {
  const seconds = secondsByState(spans, from, to)
  const latency = latencyOf(rows, slots === undefined ? ranksOfRows(rows) : ranksOf(slots))
  return { heartbeats: countsOf(rows), seconds, uptime: uptimeOf(seconds), latency }
}
