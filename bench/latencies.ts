const BUCKETS_PER_MS = 20
const LONGEST_MS = 20_000

export interface Latencies {
  record(milliseconds: number): void
  /** The upper edge of the bucket (0.05 ms wide) that holds this quantile, 0 to 1; NaN when nothing was recorded. */
  quantile(q: number): number
}

/** A histogram that allocates nothing while it records; what is slower than 20 s counts as 20 s. */
export function createLatencies(): Latencies {
  const buckets = new Uint32Array(LONGEST_MS * BUCKETS_PER_MS + 1)
  let count = 0
  return {
    record(milliseconds) {
      const bucket = Math.min(buckets.length - 1, Math.max(0, Math.floor(milliseconds * BUCKETS_PER_MS)))
      buckets[bucket] = (buckets[bucket] ?? 0) + 1
      count++
    },
    quantile(q) {
      const wanted = Math.ceil(q * count)
      let seen = 0
      for (let bucket = 0; bucket < buckets.length; bucket++) {
        seen += buckets[bucket] ?? 0
        if (seen >= wanted && seen > 0) return (bucket + 1) / BUCKETS_PER_MS
      }
      return Number.NaN
    }
  }
}
