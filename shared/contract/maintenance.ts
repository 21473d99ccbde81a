import { z } from 'zod'
import { idField, idParamsSchema, nameField, nextCursorField, pageQuerySchema, timeField, timeQuery } from './fields.ts'
import { DONE_ANSWER, type Route } from './route.ts'

/** Longest maintenance at a time, in minutes: 31 days. */
export const MAX_MAINTENANCE_MINUTES = 31 * 1440

const titleField = nameField(200)
const monitorIdsField = z.array(idField).max(1000).meta({ description: 'These monitors; not together with tags.' })
const tagsField = z
  .array(nameField(50))
  .max(20)
  .meta({ description: 'Every monitor with one of these tags; not together with monitorIds.' })
const fromField = timeQuery.meta({ description: 'Begin of what happens once.' })
const toField = timeQuery.meta({ description: 'End of what happens once, itself not in it.' })
const scheduleField = z
  .string()
  .max(200)
  .meta({
    description:
      'Begins of what happens again and again: a cron schedule as of monitors, in the time zone; once an hour at most.',
    examples: ['0 3 * * 0']
  })
const timezoneField = z
  .string()
  .max(64)
  .meta({ description: 'Of the schedule; UTC when absent.', examples: ['Europe/Berlin'] })
const durationField = z.number().int().min(1).max(MAX_MAINTENANCE_MINUTES)

export const createMaintenanceBodySchema = z
  .strictObject({
    title: titleField,
    from: fromField.optional(),
    to: toField.optional(),
    schedule: scheduleField.optional(),
    timezone: timezoneField.optional(),
    durationMinutes: durationField.optional(),
    monitorIds: monitorIdsField.optional(),
    tags: tagsField.optional()
  })
  .meta({ id: 'NewMaintenance' })

export const patchMaintenanceBodySchema = createMaintenanceBodySchema
  .partial()
  .meta({ id: 'MaintenanceChange', description: 'Fields of the other kind (once, recurring) replace the kind.' })
export type MaintenanceBody = z.output<typeof patchMaintenanceBodySchema>

export const maintenanceSchema = z
  .object({
    id: idField,
    title: z.string(),
    from: timeField.optional(),
    to: timeField.optional(),
    schedule: z.string().optional(),
    timezone: z.string().optional(),
    durationMinutes: z.number().int().optional(),
    monitorIds: z.array(idField),
    tags: z.array(z.string()),
    active: z.boolean().meta({ description: 'Is it now?' }),
    until: timeField.nullable().meta({ description: 'When what is now ends; null when nothing is.' }),
    next: timeField.nullable().meta({ description: 'Its next begin; null when there is none.' }),
    createdAt: timeField
  })
  .meta({ id: 'Maintenance' })
export type MaintenanceAnswer = z.output<typeof maintenanceSchema>

export const maintenancePageSchema = z
  .object({ data: z.array(maintenanceSchema), nextCursor: nextCursorField })
  .meta({ id: 'MaintenancePage' })

export const maintenanceRoutes = {
  listMaintenance: {
    method: 'GET',
    path: '/v1/maintenance',
    auth: 'maintenance:read',
    tag: 'Maintenance',
    summary: 'List maintenance windows, newest first.',
    query: pageQuerySchema,
    answers: { 200: { description: 'One page.', schema: maintenancePageSchema } },
    problems: ['invalid_cursor']
  },
  createMaintenance: {
    method: 'POST',
    path: '/v1/maintenance',
    auth: 'maintenance:write',
    tag: 'Maintenance',
    summary: 'Plan maintenance: once (from, to) or recurring (schedule, durationMinutes, timezone).',
    description:
      'Monitors go on as always; alerts are held until the end, and the time does not count for uptime. Nothing becomes maintenance after the fact.',
    body: createMaintenanceBodySchema,
    answers: { 201: { description: 'Planned.', schema: maintenanceSchema } }
  },
  readMaintenance: {
    method: 'GET',
    path: '/v1/maintenance/{id}',
    auth: 'maintenance:read',
    tag: 'Maintenance',
    summary: 'Read one maintenance window.',
    params: idParamsSchema,
    answers: { 200: { description: 'The window.', schema: maintenanceSchema } }
  },
  patchMaintenance: {
    method: 'PATCH',
    path: '/v1/maintenance/{id}',
    auth: 'maintenance:write',
    tag: 'Maintenance',
    summary: 'Change a maintenance window from now on.',
    params: idParamsSchema,
    body: patchMaintenanceBodySchema,
    answers: { 200: { description: 'The window as it is now.', schema: maintenanceSchema } }
  },
  endMaintenance: {
    method: 'POST',
    path: '/v1/maintenance/{id}/end',
    auth: 'maintenance:write',
    tag: 'Maintenance',
    summary: 'End what is now. A recurring window goes on at its next begin; one that is not now stays as it is.',
    params: idParamsSchema,
    answers: { 200: { description: 'The window as it is now.', schema: maintenanceSchema } }
  },
  deleteMaintenance: {
    method: 'DELETE',
    path: '/v1/maintenance/{id}',
    auth: 'maintenance:write',
    tag: 'Maintenance',
    summary: 'End a maintenance window, or take it back before it began. What was maintenance stays so.',
    params: idParamsSchema,
    answers: DONE_ANSWER
  }
} as const satisfies Record<string, Route>
