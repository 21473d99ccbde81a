import { z } from 'zod'
import { MONITOR_KINDS, type MonitorKind, type MonitorSettings, monitorSettingsSchema } from '../protocol/frames.ts'
import { idField, idParamsSchema, nameField, nextCursorField, pageQuerySchema, timeField } from './fields.ts'
import { overviewSchema } from './overview.ts'
import { DONE_ANSWER, type Route } from './route.ts'
import { takesSettings, targetFault } from './targets.ts'

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
const tagsField = z.array(nameField(50)).max(20)

/** What of a monitor the rules between its fields look at. */
interface Rules {
  kind: MonitorKind
  target?: string | null | undefined
  intervalSeconds: number
  timeoutSeconds?: number | undefined
  settings?: MonitorSettings | undefined
}

/** Faults that concern several fields at once: name of the field to change, and what to do. */
export function monitorFaults(monitor: Rules): Array<readonly [field: string, detail: string]> {
  const faults: Array<readonly [string, string]> = []
  const target = targetFault(monitor.kind, monitor.target)
  if (target !== null) faults.push(['target', target])
  if ((monitor.timeoutSeconds ?? 0) > monitor.intervalSeconds) {
    faults.push(['timeoutSeconds', 'The timeout must not be longer than the interval.'])
  }
  if (!takesSettings(monitor.kind) && Object.keys(monitor.settings ?? {}).length > 0) {
    faults.push(['settings', `A ${monitor.kind} monitor has no settings; leave them out.`])
  }
  return faults
}

export const createMonitorBodySchema = z
  .strictObject({
    name: nameField(200),
    kind: z.enum(MONITOR_KINDS),
    target: targetField.optional(),
    intervalSeconds: intervalField.default(60),
    graceSeconds: graceField.optional().meta({ description: 'Default: 20 % of the interval, at least 30.' }),
    timeoutSeconds: timeoutField.optional().meta({ description: 'Default: 10, or the interval when that is shorter.' }),
    settings: monitorSettingsSchema.optional(),
    tags: tagsField.default([])
  })
  .superRefine((monitor, context) => {
    for (const [field, message] of monitorFaults(monitor)) context.addIssue({ code: 'custom', path: [field], message })
  })
  .meta({ id: 'NewMonitor' })
export type CreateMonitorBody = z.output<typeof createMonitorBodySchema>

export const patchMonitorBodySchema = z
  .strictObject({
    name: nameField(200).optional(),
    target: targetField.optional(),
    intervalSeconds: intervalField.optional(),
    graceSeconds: graceField.optional(),
    timeoutSeconds: timeoutField.optional(),
    settings: monitorSettingsSchema.optional().meta({ description: 'Replaces all settings.' }),
    tags: tagsField.optional()
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
    graceSeconds: z.number().int(),
    timeoutSeconds: z.number().int(),
    settings: monitorSettingsSchema,
    tags: z.array(z.string()),
    state: z.enum(MONITOR_STATES),
    stateReason: z.string(),
    stateSince: timeField,
    lastHeartbeatAt: timeField.nullable(),
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

export const transitionPageSchema = z
  .object({
    data: z.array(
      z.object({ from: z.enum(MONITOR_STATES), to: z.enum(MONITOR_STATES), at: timeField, reason: z.string() })
    ),
    nextCursor: nextCursorField
  })
  .meta({ id: 'TransitionPage' })

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
    problems: ['limit_reached']
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
    problems: ['limit_reached']
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
  listTransitions: {
    method: 'GET',
    path: '/v1/monitors/{id}/transitions',
    auth: 'monitors:read',
    tag: 'Monitors',
    summary: 'List the state changes of a monitor, newest first.',
    params: idParamsSchema,
    query: pageQuerySchema,
    answers: { 200: { description: 'One page.', schema: transitionPageSchema } },
    problems: ['invalid_cursor']
  }
} as const satisfies Record<string, Route>
