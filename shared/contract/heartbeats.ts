import { z } from 'zod'
import { heartbeatSchema, MAX_BATCH_BYTES, MAX_ITEMS, RECORD_STATUSES, rejectionSchema } from '../protocol/heartbeat.ts'
import { cursorQuery, idField, limitQuery, nextCursorField, problemSchema, timeField, timeQuery } from './fields.ts'
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

export const historyQuerySchema = z.strictObject({
  monitorId: idField,
  from: timeQuery.optional().meta({ description: 'First time of the window; the start of the retention when absent.' }),
  to: timeQuery.optional().meta({ description: 'End of the window, itself not in it.' }),
  status: z.enum(RECORD_STATUSES).optional(),
  resolution: z.enum(['raw', 'auto']).default('auto'),
  limit: limitQuery,
  cursor: cursorQuery,
  order: z.enum(['asc', 'desc']).default('desc')
})
export type HistoryQuery = z.output<typeof historyQuerySchema>

export const historySchema = z
  .object({
    data: z.array(
      z
        .object({
          monitorId: idField,
          status: z
            .enum(RECORD_STATUSES)
            .meta({ description: 'start and log come from push URLs and change no state.' }),
          latency: z.number().nullable(),
          timestamp: timeField,
          receivedAt: timeField,
          source: idField.meta({ description: 'The agent, service, user or push URL that reported it.' }),
          message: z.string().nullable()
        })
        .meta({ id: 'HistoryRow' })
    ),
    nextCursor: nextCursorField,
    resolution: z.literal('raw'),
    retentionFrom: timeField.meta({ description: 'Nothing older is kept.' }),
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
    query: historyQuerySchema,
    answers: { 200: { description: 'One page.', schema: historySchema } },
    problems: ['invalid_cursor', 'not_found']
  }
} as const satisfies Record<string, Route>
