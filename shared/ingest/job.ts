/** How a heartbeat came in. */
export type WayIn = 'socket' | 'http'

/** Most heartbeats in one job. */
export const MAX_JOB_ITEMS = 1000

/**
 * One BullMQ job: a batch of heartbeats in columns, because columns of numbers cost Redis and JSON less than objects.
 * Row i is m[i], t[i], …; times are relative to `base`.
 */
export interface IngestJob {
  v: 1
  /** Epoch ms that t and r count from. */
  base: number
  /** Who reported. */
  sources: Array<[sourceId: string, way: WayIn]>
  /** Monitor keys. */
  m: number[]
  /** Timestamps, ms from base. */
  t: number[]
  /** Receive times, ms from base. */
  r: number[]
  /** Statuses: index in RECORD_STATUSES. */
  s: number[]
  /** Latencies in ms; null where the source told none (push). */
  l: Array<number | null>
  /** Index in sources. */
  x: number[]
  /** Messages of the few rows that have one. */
  texts: Array<[row: number, text: string]>
  /** Ids of runs, of the few rows that name one; absent when none does. */
  rids?: Array<[row: number, rid: string]>
}

const COLUMNS = ['m', 't', 'r', 's', 'l', 'x'] as const

/** Is this a job of the shape above? Cheap on purpose: only our own processes write the queue. */
export function isIngestJob(data: unknown): data is IngestJob {
  if (typeof data !== 'object' || data === null) return false
  const job = data as Partial<IngestJob>
  if (job.v !== 1 || !Number.isSafeInteger(job.base) || !Array.isArray(job.sources) || !Array.isArray(job.texts)) {
    return false
  }
  const size = job.m?.length
  return COLUMNS.every((name) => Array.isArray(job[name]) && job[name].length === size)
}
