import { z } from 'zod'
import { heartbeatSchema, MAX_BATCH_BYTES, MAX_ITEMS, RECORD_STATUSES, rejectionSchema } from '../protocol/heartbeat.ts'
import { cursorQuery, idField, MAX_PAGE, nextCursorField, problemSchema, timeField, timeQuery } from './fields.ts'
import { MONITOR_STATES } from './monitors.ts'
import type { Route } from './route.ts'

export const postHeartbeatsBodySchema = z.union([heartbeatSchema, z.array(heartbeatSchema).min(1).max(MAX_ITEMS)])

export const acceptedSchema = z
  .object({
    accepted: z.number().int().min(0).meta({ description: 'Heartbeats that are durable now; known ones count too.' }),
    rejected: z.array(rejectionSchema)
  })
  .meta({ id: 'Accepted' })

export const rejectedProblemSchema = problemSchema
  .extend({ rejected: z.array(rejectionSchema).optional() })
  .meta({ id: 'HeartbeatsRejected' })

/** Layers of history that may be asked for. */
export const RESOLUTIONS = ['raw', '5m', '1h', '1d'] as const
export type Resolution = (typeof RESOLUTIONS)[number]

export const EXPORT_FORMATS = ['json', 'csv', 'ndjson'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
export const EXPORT_TYPES = { csv: 'text/csv; charset=utf-8', ndjson: 'application/x-ndjson' } as const

export const historyQuerySchema = z.strictObject({
  monitorId: idField,
  from: timeQuery.optional().meta({ description: 'First time of the window; the start of the retention when absent.' }),
  to: timeQuery.optional().meta({ description: 'End of the window, itself not in it.' }),
  status: z.enum(RECORD_STATUSES).optional().meta({ description: 'For single heartbeats only.' }),
  resolution: z
    .enum([...RESOLUTIONS, 'auto'])
    .default('raw')
    .meta({
      description:
        'raw: single heartbeats. Else buckets (UTC) that begin in the window. auto: raw up to a day, 5m up to a week, ' +
        '1h up to 90 days, else 1d; coarser where the finer layer is not kept for so long.'
    }),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_PAGE)
    .optional()
    .meta({ description: '100 when absent; of CSV and NDJSON the whole window.' }),
  cursor: cursorQuery,
  order: z.enum(['asc', 'desc']).default('desc'),
  format: z.enum(EXPORT_FORMATS).optional().meta({ description: 'What `Accept` asks for when absent.' })
})
export type HistoryQuery = z.output<typeof historyQuerySchema>

export const historyRowSchema = z
  .object({
    monitorId: idField,
    status: z.enum(RECORD_STATUSES).meta({ description: 'start and log come from push URLs and change no state.' }),
    latency: z.number().nullable(),
    timestamp: timeField,
    receivedAt: timeField,
    source: idField.meta({ description: 'The agent, service, user or push URL that reported it.' }),
    message: z.string().nullable()
  })
  .meta({ id: 'HistoryRow' })
export type HistoryRowAnswer = z.output<typeof historyRowSchema>

/** Where the time of a monitor goes: maintenance covers whatever state it is in. */
export const TIMED_STATES = [...MONITOR_STATES, 'maintenance'] as const
export type TimedState = (typeof TIMED_STATES)[number]

/** What a bucket, or a whole window, says of a monitor. */
export const figuresShape = {
  heartbeats: z
    .record(z.enum(RECORD_STATUSES), z.number().int())
    .meta({ description: 'How many heartbeats said what.' }),
  seconds: z.record(z.enum(TIMED_STATES), z.number()).meta({ description: 'How long the monitor was in which state.' }),
  uptime: z
    .number()
    .nullable()
    .meta({ description: '(up + degraded) of up, degraded and down seconds, 0–1; null when there are none.' }),
  latency: z
    .object({
      count: z.number().int(),
      mean: z.number(),
      min: z.number(),
      max: z.number(),
      p50: z.number(),
      p95: z.number(),
      p99: z.number()
    })
    .nullable()
    .meta({ description: 'Of heartbeats that said up or degraded, in ms. Percentiles are right within 2 %.' })
}

const rollupRowSchema = z
  .object({
    monitorId: idField,
    timestamp: timeField.meta({ description: 'When the bucket begins.' }),
    ...figuresShape
  })
  .meta({ id: 'HistoryBucket' })
export type RollupRowAnswer = z.output<typeof rollupRowSchema>

export const historySchema = z
  .object({
    data: z.array(z.union([historyRowSchema, rollupRowSchema])),
    nextCursor: nextCursorField,
    resolution: z.enum(RESOLUTIONS),
    retentionFrom: timeField
      .nullable()
      .meta({ description: 'Nothing older is shown in this resolution; null: everything is.' }),
    clamped: z.boolean().meta({ description: 'Was the window cut at retentionFrom?' })
  })
  .meta({ id: 'History' })

export const heartbeatRoutes = {
  postHeartbeats: {
    method: 'POST',
    path: '/api/heartbeats',
    auth: 'heartbeats:write',
    tag: 'Heartbeats',
    summary: 'Report one heartbeat, or up to 500.',
    description:
      'Each is checked by itself: good ones are durable when the answer is sent, the others are named in it.',
    body: postHeartbeatsBodySchema,
    itemwise: true,
    bodyLimit: MAX_BATCH_BYTES,
    answers: { 202: { description: 'At least one was accepted and is durable.', schema: acceptedSchema } },
    problems: ['heartbeats_rejected', 'overloaded']
  },
  readHeartbeats: {
    method: 'GET',
    path: '/api/heartbeats',
    auth: 'heartbeats:read',
    tag: 'Heartbeats',
    summary: 'Read the history of a monitor.',
    description:
      'CSV and NDJSON, by `Accept` or `format`, are the whole window as a stream; the headers `Pulsegate-Resolution`, ' +
      '`Pulsegate-Retention-From` and `Pulsegate-Clamped` tell what a page tells in its body.',
    query: historyQuerySchema,
    answers: {
      200: { description: 'One page.', schema: historySchema, streams: Object.values(EXPORT_TYPES) }
    },
    problems: ['invalid_cursor', 'not_found']
  }
} as const satisfies Record<string, Route>
