import type { RollupRowAnswer } from '../../shared/contract/heartbeats.ts'
import { addSlots, percentile, type Slots } from '../../shared/latency-slots.ts'
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

function latencyOf(rows: readonly RollupRow[]): Figures['latency'] {
  const slots: Slots = new Map()
  let [count, sum, min, max] = [0, 0, Number.POSITIVE_INFINITY, 0]
  for (const row of rows) {
    if (row.latency_n === 0) continue
    addSlots(slots, row.latency_slots, row.latency_counts)
    count += row.latency_n
    sum += row.latency_sum ?? 0
    min = Math.min(min, row.latency_min ?? min)
    max = Math.max(max, row.latency_max ?? max)
  }
  if (count === 0) return null
  const at = (share: number) => rounded(percentile(slots, share, min, max))
  return { count, mean: rounded(sum / count), min, max, p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

/** Adds up the rows of [from, to), with the time that the monitor spent in its states. */
export function figuresOf(rows: readonly RollupRow[], spans: readonly StateSpan[], from: number, to: number): Figures {
  const seconds = secondsByState(spans, from, to)
  return { heartbeats: countsOf(rows), seconds, uptime: uptimeOf(seconds), latency: latencyOf(rows) }
}
