import { z } from 'zod'
import { parseTimestamp } from './timestamp.ts'

/** What a source may say of its monitor (spec, "Heartbeat": `up` is shown, the other two are ours). */
export const HEARTBEAT_STATUSES = ['up', 'down', 'degraded'] as const
export type HeartbeatStatus = (typeof HEARTBEAT_STATUSES)[number]

/** What history may hold: push URLs also leave marks that never change a state. */
export const RECORD_STATUSES = [...HEARTBEAT_STATUSES, 'start', 'log'] as const
export type RecordStatus = (typeof RECORD_STATUSES)[number]

/** Longest `message`, in Unicode code points, as JSON Schema and zod count. */
export const MAX_MESSAGE_LENGTH = 2000
/** Most heartbeats in one frame or one POST. */
export const MAX_ITEMS = 500
/** Largest frame or heartbeat POST, in bytes. */
export const MAX_BATCH_BYTES = 262_144
/** How far a `timestamp` may lie ahead of the receiver's clock, in milliseconds. */
export const MAX_FUTURE_MS = 60_000
/** How old a `timestamp` may be over HTTP, in milliseconds. */
export const MAX_AGE_MS = 86_400_000

/** The one truth about a heartbeat on every way in; `readHeartbeat` is its fast twin. */
export const heartbeatSchema = z
  .strictObject({
    monitorId: z.string().meta({ description: 'Identifier of the monitor the result belongs to.' }),
    status: z.enum(HEARTBEAT_STATUSES),
    latency: z.number().min(0).meta({ description: 'Milliseconds, finite, not negative.' }),
    timestamp: z
      .string()
      .refine((text) => !Number.isNaN(parseTimestamp(text)), 'must be an ISO 8601 time in UTC ending in Z')
      .meta({
        description: 'ISO 8601 date-time in UTC, cut to milliseconds. At most 60 s ahead, at most 24 h old over HTTP.',
        format: 'date-time',
        examples: ['2026-11-21T10:00:00.000Z']
      }),
    message: z
      .string()
      .max(MAX_MESSAGE_LENGTH)
      .refine((text) => !text.includes('\u0000'), 'must not contain U+0000')
      .optional()
  })
  .meta({ id: 'Heartbeat' })
export type Heartbeat = z.infer<typeof heartbeatSchema>

/** Why one heartbeat of a batch was refused; stable, the same on every way in. */
export const ITEM_FAULTS = {
  not_an_object: 'A heartbeat is a JSON object.',
  missing_field: 'monitorId, status, latency and timestamp are all required.',
  unknown_field: 'Only monitorId, status, latency, timestamp and message are known; remove the others.',
  invalid_status: 'status must be exactly "up", "down" or "degraded".',
  invalid_latency: 'latency must be a finite number of milliseconds, 0 or more.',
  invalid_timestamp: 'timestamp must be an ISO 8601 date-time in UTC, such as 2026-11-21T10:00:00.000Z.',
  invalid_message: 'message must be a string of at most 2,000 characters without U+0000.',
  timestamp_in_future: 'timestamp is more than 60 seconds ahead; correct the clock of the sender.',
  timestamp_too_old: 'timestamp is older than what this way in accepts.',
  monitor_not_allowed: 'monitorId names no monitor that this caller may report.'
} as const
export type ItemFault = keyof typeof ITEM_FAULTS

/** One refused heartbeat: its place in the batch, the code, a sentence that says how to fix it. */
export const rejectionSchema = z
  .object({
    index: z.number().int().min(0),
    code: z.enum(Object.keys(ITEM_FAULTS) as [ItemFault, ...ItemFault[]]),
    detail: z.string()
  })
  .meta({ id: 'Rejection' })
export type Rejection = z.infer<typeof rejectionSchema>

export function rejection(index: number, code: ItemFault): Rejection {
  return { index, code, detail: ITEM_FAULTS[code] }
}
