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

/** The shares of the percentiles that are told, and the columns that keep the slots of them beside a histogram. */
export const RANKS = { p50_slot: 0.5, p95_slot: 0.95, p99_slot: 0.99 } as const
export type Ranks = Record<keyof typeof RANKS, number | null>

/** SQL: the columns of RANKS (nearest rank) of a histogram of `n` latencies. */
export function ranksSql(slots: string, counts: string, n: string): string {
  const ranks = Object.entries(RANKS).map(
    ([column, share]) => `min(slot) filter (where seen >= ceil(${share}::float8 * ${n})) as ${column}`
  )
  return `select ${ranks.join(', ')}
    from (select slot, sum(n) over (order by slot rows unbounded preceding) as seen from unnest(${slots}, ${counts}) u (slot, n)) s`
}

/** What a slot stands for, in milliseconds; never outside of what was measured. */
export function latencyIn(slot: number, min: number, max: number): number {
  const middle = slot <= 0 ? MIN : (MIN * GAMMA ** slot * 2) / (1 + GAMMA)
  return Math.min(max, Math.max(min, middle))
}

/** How many latencies lie in each slot. */
export type Slots = Map<number, number>

export function addSlots(into: Slots, slots: readonly number[], counts: readonly number[]): void {
  for (const [i, slot] of slots.entries()) into.set(slot, (into.get(slot) ?? 0) + (counts[i] ?? 0))
}

function slotAt(sorted: ReadonlyArray<readonly [number, number]>, rank: number): number | null {
  let seen = 0
  for (const [slot, n] of sorted) {
    seen += n
    if (seen >= rank) return slot
  }
  return null
}

/** What `ranksSql` finds. */
export function ranksOf(slots: Slots): Ranks {
  const total = [...slots.values()].reduce((sum, n) => sum + n, 0)
  const sorted = [...slots].sort(([a], [b]) => a - b)
  const at = (share: number) => slotAt(sorted, Math.ceil(share * total))
  return { p50_slot: at(RANKS.p50_slot), p95_slot: at(RANKS.p95_slot), p99_slot: at(RANKS.p99_slot) }
}
