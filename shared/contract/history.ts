import { z } from 'zod'
import { HEARTBEAT_STATUSES } from '../protocol/heartbeat.ts'
import { idField, idParamsSchema, nextCursorField, pageQuerySchema, timeField, timeQuery } from './fields.ts'
import { figuresShape, historyRowSchema, RESOLUTIONS } from './heartbeats.ts'
import { MONITOR_STATES } from './monitors.ts'
import type { Route } from './route.ts'

export const summaryQuerySchema = z.strictObject({
  from: timeQuery.optional().meta({ description: 'A day before `to` when absent.' }),
  to: timeQuery.optional().meta({ description: 'Now when absent.' })
})
export type SummaryQuery = z.output<typeof summaryQuerySchema>

export const summarySchema = z
  .object({
    from: timeField.meta({ description: 'The window that was really read: it begins with a bucket.' }),
    to: timeField,
    resolution: z.enum(RESOLUTIONS).meta({ description: 'Of the buckets.' }),
    retentionFrom: timeField.nullable().meta({ description: 'Nothing older is shown in this resolution.' }),
    clamped: z.boolean(),
    ...figuresShape,
    buckets: z
      .array(z.object({ at: timeField, ...figuresShape }))
      .meta({ description: 'Oldest first, from the first sign of life; those in which nothing happened too.' })
  })
  .meta({ id: 'MonitorSummary' })

/** What a list that the plan may cut off says of it. */
const retentionShape = {
  retentionFrom: timeField.nullable().meta({ description: 'Nothing older is shown; null: everything is.' }),
  clamped: z.boolean().meta({ description: 'There is something older after this page that is not shown any more.' })
}

export const transitionPageSchema = z
  .object({
    data: z.array(
      z.object({ from: z.enum(MONITOR_STATES), to: z.enum(MONITOR_STATES), at: timeField, reason: z.string() })
    ),
    nextCursor: nextCursorField,
    ...retentionShape
  })
  .meta({ id: 'TransitionPage' })

export const incidentPageSchema = z
  .object({
    data: z.array(
      z
        .object({
          from: timeField,
          to: timeField.nullable().meta({ description: 'Null while it lasts.' }),
          seconds: z.number().meta({ description: 'Up to now while it lasts.' }),
          reason: z.string()
        })
        .meta({ id: 'Incident' })
    ),
    nextCursor: nextCursorField,
    ...retentionShape
  })
  .meta({ id: 'IncidentPage' })

export const explanationSchema = z
  .object({
    state: z.enum(MONITOR_STATES),
    reason: z.string(),
    since: timeField,
    sentence: z.string().meta({ description: 'For people; its words may change.' }),
    observed: z
      .enum(MONITOR_STATES)
      .nullable()
      .meta({ description: 'What the newest live heartbeat said, confirmed or not.' }),
    quorum: z.string().meta({ description: 'How many of its agents it takes to be down.' }),
    votes: z
      .array(
        z.object({
          agentId: idField.optional(),
          name: z.string().optional(),
          status: z.enum(HEARTBEAT_STATUSES),
          timestamp: timeField
        })
      )
      .meta({
        description:
          'What each agent that is online last said; empty unless an agent told the newest heartbeat. Agents are named to who may read them.'
      }),
    lastHeartbeat: historyRowSchema
      .nullable()
      .meta({ description: 'The newest by time, even when the plan shows nothing of its age any more.' }),
    intervalSeconds: z.number().int(),
    graceSeconds: z.number().int(),
    expectedAt: timeField.nullable().meta({ description: 'Null before the first heartbeat, and while paused.' }),
    deadlineAt: timeField.nullable()
  })
  .meta({ id: 'Explanation' })
export type ExplanationAnswer = z.output<typeof explanationSchema>

export const historyRoutes = {
  summarizeMonitor: {
    method: 'GET',
    path: '/v1/monitors/{id}/summary',
    auth: 'monitors:read',
    tag: 'Monitors',
    summary: 'Read uptime, latency percentiles and buckets for plots of a window.',
    description: 'Buckets of 5 minutes up to a day, of an hour up to 14 days, else of a day (UTC).',
    params: idParamsSchema,
    query: summaryQuerySchema,
    answers: { 200: { description: 'The window.', schema: summarySchema } }
  },
  listTransitions: {
    method: 'GET',
    path: '/v1/monitors/{id}/transitions',
    auth: 'monitors:read',
    tag: 'Monitors',
    summary: 'List the state changes of a monitor, newest first, as far back as the plan keeps days.',
    params: idParamsSchema,
    query: pageQuerySchema,
    answers: { 200: { description: 'One page.', schema: transitionPageSchema } },
    problems: ['invalid_cursor']
  },
  listIncidents: {
    method: 'GET',
    path: '/v1/monitors/{id}/incidents',
    auth: 'monitors:read',
    tag: 'Monitors',
    summary: 'List the times when a monitor was down, newest first, as far back as the plan keeps days.',
    params: idParamsSchema,
    query: pageQuerySchema,
    answers: { 200: { description: 'One page.', schema: incidentPageSchema } },
    problems: ['invalid_cursor']
  },
  explainMonitor: {
    method: 'GET',
    path: '/v1/monitors/{id}/explain',
    auth: 'monitors:read',
    tag: 'Monitors',
    summary: 'Tell why the state of a monitor is what it is.',
    params: idParamsSchema,
    answers: { 200: { description: 'The state and what led to it.', schema: explanationSchema } }
  }
} as const satisfies Record<string, Route>
