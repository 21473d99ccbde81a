import { z } from 'zod'

/** How a heartbeat came in. */
export const WAYS_IN = ['socket', 'http'] as const
export type WayIn = (typeof WAYS_IN)[number]

/** Most heartbeats in one job. */
export const MAX_JOB_ITEMS = 1000

const numbers = z.array(z.number())

/**
 * One BullMQ job: a batch of heartbeats in columns, because columns of numbers cost Redis and JSON 1.45 times less than
 * objects (`limits.md` A2). Row i is m[i], t[i], …; times are relative to `base`.
 */
export const jobSchema = z.object({
  v: z.literal(1),
  /** Epoch ms that t and r count from. */
  base: z.number(),
  /** Who reported: [source id, way in]. */
  sources: z.array(z.tuple([z.uuid(), z.enum(WAYS_IN)])),
  /** Monitor keys. */
  m: numbers,
  /** Timestamps, ms from base. */
  t: numbers,
  /** Receive times, ms from base. */
  r: numbers,
  /** Statuses: index in RECORD_STATUSES. */
  s: numbers,
  /** Latencies in ms; null where the source told none (push). */
  l: z.array(z.number().nullable()),
  /** Index in sources. */
  x: numbers,
  /** Messages of the few rows that have one: [row, text]. */
  texts: z.array(z.tuple([z.number(), z.string()]))
})
export type IngestJob = z.infer<typeof jobSchema>
