import { z } from 'zod'
import { MONITOR_KINDS, monitorSettingsSchema } from '../protocol/frames.ts'
import { idField, idParamsSchema, nameField, nextCursorField, pageQuerySchema, timeField } from './fields.ts'
import { monitorFaults } from './monitor-faults.ts'
import { overviewSchema } from './overview.ts'
import { DONE_ANSWER, type Route } from './route.ts'
import { agentIsTargetField, confirmationsField, quorumField, recoveriesField, resumeOnPingField } from './verdict.ts'

export const MONITOR_STATES = ['pending', 'up', 'down', 'degraded', 'unknown', 'paused'] as const
export type MonitorState = (typeof MONITOR_STATES)[number]

const YEAR_SECONDS = 365 * 86_400
const MIN_INTERVAL_SECONDS = 10

const targetField = z
  .string()
  .max(2048)
  .meta({ description: 'URL for http, host:port for tcp and tls, host for dns and ping; absent for the other kinds.' })
const intervalField = z.number().int().min(MIN_INTERVAL_SECONDS).max(YEAR_SECONDS)
const graceField = z.number().int().min(0).max(YEAR_SECONDS)
const timeoutField = z.number().int().min(1).max(3600)
const scheduleField = z
  .string()
  .trim()
  .max(200)
  .meta({
    description:
      'Cron schedule of five fields, six with seconds first, or a nickname such as @daily; of heartbeat and push monitors.',
    examples: ['30 2 * * 1-5']
  })
const timezoneField = z
  .string()
  .max(64)
  .meta({ description: 'Time zone that the schedule is read in; UTC when absent.', examples: ['Europe/Berlin'] })
const maxRuntimeField = z
  .number()
  .int()
  .min(1)
  .max(YEAR_SECONDS)
  .meta({ description: 'A run of a push monitor that said start and nothing for so long hangs.' })
const tagsField = z.array(nameField(50)).max(20)
const parentIdsField = z
  .array(idField)
  .max(20)
  .meta({ description: 'What it depends on: while one of these is down, nobody is told that this one is, too.' })

/** Of a monitor without a schedule, unless told otherwise. */
export const STANDARD_INTERVAL_SECONDS = 60

export const createMonitorBodySchema = z
  .strictObject({
    name: nameField(200),
    kind: z.enum(MONITOR_KINDS),
    target: targetField.optional(),
    intervalSeconds: intervalField.optional().meta({
      description: 'Default: 60. With a schedule it is the shortest gap between its slots; leave it out.'
    }),
    schedule: scheduleField.optional(),
    timezone: timezoneField.optional(),
    graceSeconds: graceField.optional().meta({ description: 'Default: 20 % of the interval, at least 30.' }),
    timeoutSeconds: timeoutField.optional().meta({ description: 'Default: 10, or the interval when that is shorter.' }),
    confirmations: confirmationsField.default(1),
    recoveries: recoveriesField.default(1),
    quorum: quorumField.default('any'),
    maxRuntimeSeconds: maxRuntimeField.optional(),
    resumeOnPing: resumeOnPingField.default(false),
    agentIsTarget: agentIsTargetField.default(false),
    settings: monitorSettingsSchema.optional(),
    tags: tagsField.default([]),
    parentIds: parentIdsField.default([])
  })
  .superRefine((monitor, context) => {
    const intervalSeconds = monitor.intervalSeconds ?? STANDARD_INTERVAL_SECONDS
    for (const [field, message] of monitorFaults({ ...monitor, intervalSeconds }))
      context.addIssue({ code: 'custom', path: [field], message })
  })
  .meta({ id: 'NewMonitor' })
export type CreateMonitorBody = z.output<typeof createMonitorBodySchema>

export const patchMonitorBodySchema = z
  .strictObject({
    name: nameField(200).optional(),
    target: targetField.optional(),
    intervalSeconds: intervalField.optional(),
    schedule: scheduleField.nullable().optional().meta({ description: 'Null: by interval again.' }),
    timezone: timezoneField.optional(),
    confirmations: confirmationsField.optional(),
    recoveries: recoveriesField.optional(),
    quorum: quorumField.optional(),
    maxRuntimeSeconds: maxRuntimeField.nullable().optional(),
    resumeOnPing: resumeOnPingField.optional(),
    agentIsTarget: agentIsTargetField.optional(),
    graceSeconds: graceField.optional(),
    timeoutSeconds: timeoutField.optional(),
    settings: monitorSettingsSchema.optional().meta({ description: 'Replaces all settings.' }),
    tags: tagsField.optional(),
    parentIds: parentIdsField.optional()
  })
  .meta({ id: 'MonitorChange' })
export type PatchMonitorBody = z.output<typeof patchMonitorBodySchema>

export const monitorSchema = z
  .object({
    id: idField,
    name: z.string(),
    kind: z.enum(MONITOR_KINDS),
    target: z.string().optional(),
    intervalSeconds: z.number().int(),
    schedule: z.string().nullable(),
    timezone: z.string().nullable(),
    confirmations: z.number().int(),
    recoveries: z.number().int(),
    quorum: z.string(),
    maxRuntimeSeconds: z.number().int().nullable(),
    resumeOnPing: z.boolean(),
    agentIsTarget: z.boolean(),
    graceSeconds: z.number().int(),
    timeoutSeconds: z.number().int(),
    settings: monitorSettingsSchema,
    tags: z.array(z.string()),
    parentIds: z.array(idField),
    state: z.enum(MONITOR_STATES),
    stateReason: z.string(),
    stateSince: timeField,
    maintenance: z
      .object({ title: z.string().optional(), until: timeField })
      .nullable()
      .meta({ description: 'That holds now, with its title for signed-in people; null: none.' }),
    observed: z
      .enum(['up', 'down', 'degraded'])
      .nullable()
      .meta({ description: 'What the newest heartbeat said, confirmed or not.' }),
    running: z.boolean().meta({ description: 'A run that began has not ended; only where maxRuntimeSeconds is set.' }),
    lastHeartbeatAt: timeField.nullable(),
    expectedAt: timeField.nullable().meta({
      description:
        'When the next heartbeat is expected; after it the monitor is late, and after graceSeconds more it is missed. Null while nothing is expected, and in lists for monitors with a schedule.'
    }),
    createdAt: timeField,
    pushUrl: z
      .string()
      .optional()
      .meta({ description: 'Of push monitors, for signed-in people only: whoever has it may report.' }),
    overview: overviewSchema.optional().meta({ description: 'Of lists that are asked for with expand=overview.' })
  })
  .meta({ id: 'Monitor' })
export type MonitorAnswer = z.output<typeof monitorSchema>

export const monitorPageSchema = z
  .object({ data: z.array(monitorSchema), nextCursor: nextCursorField })
  .meta({ id: 'MonitorPage' })

export const listMonitorsQuerySchema = pageQuerySchema.extend({
  expand: z.enum(['overview']).optional().meta({ description: 'Adds to each monitor what a list shows of it.' })
})

const BULK_ACTIONS = ['pause', 'resume', 'delete'] as const
export const bulkBodySchema = z
  .strictObject({ ids: z.array(idField).min(1).max(500), action: z.enum(BULK_ACTIONS) })
  .meta({ id: 'BulkChange' })
export type BulkBody = z.output<typeof bulkBodySchema>

export const bulkAnswerSchema = z
  .object({
    data: z.array(
      z.object({
        id: idField,
        result: z.enum(['done', 'unchanged', 'not_found']).meta({ description: 'unchanged: it was so already.' })
      })
    )
  })
  .meta({ id: 'BulkResult' })

export const monitorRoutes = {
  listMonitors: {
    method: 'GET',
    path: '/v1/monitors',
    auth: 'monitors:read',
    tag: 'Monitors',
    summary: 'List monitors, newest first; for a key those of its set.',
    query: listMonitorsQuerySchema,
    answers: { 200: { description: 'One page.', schema: monitorPageSchema } },
    problems: ['invalid_cursor']
  },
  createMonitor: {
    method: 'POST',
    path: '/v1/monitors',
    auth: 'monitors:write',
    tag: 'Monitors',
    summary: 'Create a monitor.',
    body: createMonitorBodySchema,
    answers: { 201: { description: 'Created.', schema: monitorSchema } },
    problems: ['limit_reached', 'cyclic_dependency']
  },
  // Before the routes of one monitor, whose id would match it.
  changeMonitors: {
    method: 'POST',
    path: '/v1/monitors/bulk',
    auth: 'monitors:write',
    tag: 'Monitors',
    summary: 'Pause, resume or delete many monitors at once.',
    body: bulkBodySchema,
    answers: { 200: { description: 'What became of each, in the order asked.', schema: bulkAnswerSchema } }
  },
  readMonitor: {
    method: 'GET',
    path: '/v1/monitors/{id}',
    auth: 'monitors:read',
    tag: 'Monitors',
    summary: 'Read one monitor with its state.',
    params: idParamsSchema,
    answers: { 200: { description: 'The monitor.', schema: monitorSchema } }
  },
  patchMonitor: {
    method: 'PATCH',
    path: '/v1/monitors/{id}',
    auth: 'monitors:write',
    tag: 'Monitors',
    summary: 'Change a monitor. Its kind stays.',
    params: idParamsSchema,
    body: patchMonitorBodySchema,
    answers: { 200: { description: 'The monitor as it is now.', schema: monitorSchema } },
    problems: ['limit_reached', 'cyclic_dependency']
  },
  deleteMonitor: {
    method: 'DELETE',
    path: '/v1/monitors/{id}',
    auth: 'monitors:write',
    tag: 'Monitors',
    summary: 'Delete a monitor with its push URL. Its history can no longer be read.',
    params: idParamsSchema,
    answers: DONE_ANSWER
  },
  pauseMonitor: {
    method: 'POST',
    path: '/v1/monitors/{id}/pause',
    auth: 'monitors:write',
    tag: 'Monitors',
    summary: 'Pause a monitor: heartbeats are kept, its state stays paused, and agents stop checking it.',
    params: idParamsSchema,
    answers: { 200: { description: 'The monitor as it is now.', schema: monitorSchema } }
  },
  resumeMonitor: {
    method: 'POST',
    path: '/v1/monitors/{id}/resume',
    auth: 'monitors:write',
    tag: 'Monitors',
    summary:
      'Resume a paused monitor. It is pending until it is heard of, or missed an interval and its grace from now.',
    params: idParamsSchema,
    answers: { 200: { description: 'The monitor as it is now.', schema: monitorSchema } }
  }
} as const satisfies Record<string, Route>
