/**
 * Latencies in logarithmic slots: a slot holds (MIN·γ^(n−1), MIN·γ^n], and slot 0 all up to MIN. Told by the middle of its slot
 * a latency is off by 2 % at most. Histograms of this kind merge by adding, exactly.
 */
const ERROR = 0.02
const GAMMA = (1 + ERROR) / (1 - ERROR)
const LN_GAMMA = Math.log(GAMMA)
/** Milliseconds; what is quicker counts as this. */
const MIN = 0.01
/** Sums of what is longer would overflow; 30,000 years. */
const MAX = 1e15

/** SQL: a latency that can be added up; null of null, which `least` alone would pass over. */
export function latencySql(latency: string): string {
  return `case when ${latency} is not null then least(${latency}, ${MAX}) end`
}

/** SQL: the slot of what `latencySql` gave; null of null. */
export function slotSql(latency: string): string {
  const logarithm = `ln(greatest(${latency}, ${MIN})) - (${Math.log(MIN)})`
  return `case when ${latency} is not null then ceil((${logarithm}) / ${LN_GAMMA})::smallint end`
}

/** What a slot stands for, in milliseconds. */
function middleOf(slot: number): number {
  return slot <= 0 ? MIN : (MIN * GAMMA ** slot * 2) / (1 + GAMMA)
}

/** How many latencies lie in each slot. */
export type Slots = Map<number, number>

export function addSlots(into: Slots, slots: readonly number[], counts: readonly number[]): void {
  for (const [i, slot] of slots.entries()) into.set(slot, (into.get(slot) ?? 0) + (counts[i] ?? 0))
}

/**
 * The `share` quantile (nearest rank) within 2 %, never outside of what was measured. `min` and `max` are exact.
 */
export function percentile(slots: Slots, share: number, min: number, max: number): number {
  const total = [...slots.values()].reduce((sum, n) => sum + n, 0)
  const rank = Math.max(1, Math.ceil(share * total))
  let seen = 0
  for (const [slot, n] of [...slots].sort(([a], [b]) => a - b)) {
    seen += n
    if (seen >= rank) return Math.min(max, Math.max(min, middleOf(slot)))
  }
  return max
}
