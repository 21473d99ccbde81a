import { v7 as uuidv7 } from 'uuid'
import {
  MAX_MAINTENANCE_MINUTES,
  type MaintenanceAnswer,
  type MaintenanceBody
} from '../../shared/contract/maintenance.ts'
import type { Queryable } from '../../shared/db.ts'
import { AppError, type FieldFault } from '../../shared/errors.ts'
import { formatTimestamp, parseTimestamp } from '../../shared/protocol/timestamp.ts'
import { isTimezone, scheduleFault, shortestGap, slotsAfter } from '../../shared/schedule/cron.ts'
import { spansOf, type WindowTimes } from '../../shared/schedule/maintenance.ts'
import {
  endMaintenance,
  findMaintenance,
  insertMaintenance,
  listMaintenance,
  lockMaintenance,
  type MaintenanceRow,
  timesOf
} from '../../shared/store/maintenance.ts'
import { findMonitorKeys } from '../../shared/store/monitors.ts'
import { reconsiderAlerts } from '../../shared/store/outbox.ts'
import { audit } from '../http/audit.ts'
import type { Handlers } from '../http/contract.ts'
import { cutPage, readCursor, UUID_CURSOR, writeCursor } from '../http/cursor.ts'
import { validationFailed } from '../http/validate.ts'
import type { Parts } from '../parts.ts'

/** A window may begin this often at most, in seconds. */
const SHORTEST_GAP = 3600
const MS_PER_MINUTE = 60_000

type Fields = Pick<MaintenanceBody, 'from' | 'to' | 'schedule' | 'timezone' | 'durationMinutes' | 'monitorIds' | 'tags'>

function fault(pointer: string, detail: string, code = 'invalid_value'): FieldFault {
  return { pointer, code, detail }
}

function onceFaults({ from, to }: Fields, now: number): FieldFault[] {
  if (from === undefined) return [fault('/from', 'Tell when it begins.', 'missing_field')]
  if (to === undefined) return [fault('/to', 'Tell when it ends.', 'missing_field')]
  const [begin, end] = [parseTimestamp(from), parseTimestamp(to)]
  if (end <= begin) return [fault('/to', 'The end has to be after the begin.')]
  if (end <= now) return [fault('/to', 'This is over already; nothing becomes maintenance after the fact.')]
  if (end - begin > MAX_MAINTENANCE_MINUTES * MS_PER_MINUTE) return [fault('/to', 'Maintenance takes 31 days at most.')]
  return []
}

function recurringFaults({ schedule, timezone = 'UTC', durationMinutes }: Fields, now: number): FieldFault[] {
  const faults: FieldFault[] = []
  if (schedule === undefined) faults.push(fault('/schedule', 'Tell when it begins.', 'missing_field'))
  if (durationMinutes === undefined) faults.push(fault('/durationMinutes', 'Tell how long it takes.', 'missing_field'))
  if (!isTimezone(timezone)) {
    faults.push(fault('/timezone', 'Use a name of the IANA database, such as Europe/Berlin.', 'unknown_timezone'))
  }
  if (faults.length > 0 || schedule === undefined || durationMinutes === undefined) return faults
  const wrong = scheduleFault(schedule, timezone, now)
  if (wrong !== null) return [fault('/schedule', wrong, 'invalid_schedule')]
  const gap = shortestGap(schedule, timezone, now)
  if (gap < SHORTEST_GAP) return [fault('/schedule', 'Maintenance begins once an hour at most.', 'invalid_schedule')]
  if (gap < durationMinutes * 60) {
    return [fault('/durationMinutes', 'The next one would begin before this one ends; make it shorter.')]
  }
  return []
}

function isRecurring({ schedule, timezone, durationMinutes }: Fields): boolean {
  return schedule !== undefined || timezone !== undefined || durationMinutes !== undefined
}

function isOnce({ from, to }: Fields): boolean {
  return from !== undefined || to !== undefined
}

/** @throws AppError validation_failed when it can never be, or is not told what for. */
function check(fields: Fields, now: number): void {
  const { monitorIds = [], tags = [] } = fields
  const faults: FieldFault[] = []
  if (isRecurring(fields) && isOnce(fields)) {
    faults.push(fault('/schedule', 'Tell from and to, or schedule and durationMinutes, not both.'))
  } else faults.push(...(isRecurring(fields) ? recurringFaults(fields, now) : onceFaults(fields, now)))
  if (monitorIds.length > 0 && tags.length > 0) faults.push(fault('/tags', 'Name monitors or tags, not both.'))
  if (monitorIds.length + tags.length === 0)
    faults.push(fault('/monitorIds', 'Name monitors or tags.', 'missing_field'))
  if (faults.length > 0) throw validationFailed(faults)
}

/** Of checked fields. */
function toTimes({ from = '', to = '', schedule, timezone = 'UTC', durationMinutes = 0 }: Fields): WindowTimes {
  return schedule === undefined
    ? { startsAt: parseTimestamp(from), endsAt: parseTimestamp(to) }
    : { schedule, timezone, durationMinutes }
}

/** The window with the change; what is told of the other kind, or of the other way to name monitors, replaces it. */
function merge(row: MaintenanceRow, body: MaintenanceBody): Fields {
  const { starts_at, ends_at, schedule, timezone, duration_minutes, tags, monitor_ids } = row
  const once = { ...(starts_at && { from: starts_at.toISOString() }), ...(ends_at && { to: ends_at.toISOString() }) }
  const again = {
    ...(schedule && { schedule }),
    ...(timezone && { timezone }),
    ...(duration_minutes && { durationMinutes: duration_minutes })
  }
  const times = isOnce(body) === isRecurring(body) ? { ...once, ...again } : isOnce(body) ? once : again
  const scope = body.tags !== undefined || body.monitorIds !== undefined ? {} : { tags, monitorIds: monitor_ids }
  return { ...times, ...scope, ...body }
}

function nextBegin(times: WindowTimes, now: number): number | null {
  if ('startsAt' in times) return times.startsAt > now ? times.startsAt : null
  return slotsAfter(times.schedule, times.timezone, now, 1)[0] ?? null
}

function toAnswer(row: MaintenanceRow, now: number): MaintenanceAnswer {
  const times = timesOf(row)
  const next = nextBegin(times, now)
  return {
    id: row.id,
    title: row.title,
    ...('startsAt' in times ? { from: formatTimestamp(times.startsAt), to: formatTimestamp(times.endsAt) } : times),
    monitorIds: row.monitor_ids,
    tags: row.tags,
    active: spansOf(times, { from: Math.max(now, row.valid_from.getTime()), to: now + 1 }).length > 0,
    next: next === null ? null : formatTimestamp(next),
    createdAt: formatTimestamp(row.created_at.getTime())
  }
}

/** Another organization's monitor is as unknown as one that never was. @throws AppError validation_failed */
async function keysOf(tx: Queryable, organizationId: string, ids: readonly string[]): Promise<number[]> {
  const known = new Map((await findMonitorKeys(tx, organizationId, ids)).map(({ id, key }) => [id, key]))
  const faults = ids.flatMap((id, index) =>
    known.has(id.toLowerCase())
      ? []
      : [fault(`/monitorIds/${index}`, 'There is no such monitor.', 'monitor_not_allowed')]
  )
  if (faults.length > 0) throw validationFailed(faults)
  return [...known.values()]
}

/** @throws AppError not_found */
function found(row: MaintenanceRow | undefined): MaintenanceRow {
  if (row === undefined) throw new AppError('not_found')
  return row
}

function targetOf({ id, title }: { id: string; title: string }) {
  return { kind: 'maintenance', id, name: title }
}

type MaintenanceHandlers = Pick<
  Handlers,
  'listMaintenance' | 'createMaintenance' | 'readMaintenance' | 'patchMaintenance' | 'deleteMaintenance'
>

function createReaders({ db, clock }: Parts): Pick<MaintenanceHandlers, 'listMaintenance' | 'readMaintenance'> {
  return {
    listMaintenance: async ({ principal: { organizationId }, query }) => {
      const [after = null] = readCursor(query.cursor, UUID_CURSOR) ?? []
      const rows = await db.tenant(organizationId, (tx) => listMaintenance(tx, organizationId, after, query.limit + 1))
      const { page, nextCursor } = cutPage(rows, query.limit, (last) => writeCursor(last.id))
      return { status: 200, body: { data: page.map((row) => toAnswer(row, clock())), nextCursor } }
    },

    readMaintenance: async ({ principal: { organizationId }, params }) => {
      const row = await db.tenant(organizationId, (tx) => findMaintenance(tx, organizationId, params.id))
      return { status: 200, body: toAnswer(found(row), clock()) }
    }
  }
}

/** Writes a version that holds from now on. */
async function write(
  tx: Queryable,
  organizationId: string,
  window: { id: string; title: string; fields: Fields; createdAt: number },
  now: number
): Promise<MaintenanceRow> {
  const { id, title, fields, createdAt } = window
  await insertMaintenance(tx, organizationId, {
    version: uuidv7(),
    id,
    title,
    times: toTimes(fields),
    tags: [...new Set(fields.tags)],
    monitorKeys: await keysOf(tx, organizationId, fields.monitorIds ?? []),
    createdAt: new Date(createdAt),
    validFrom: new Date(now)
  })
  return found(await findMaintenance(tx, organizationId, id))
}

export function createMaintenanceHandlers(parts: Parts): MaintenanceHandlers {
  const { db, clock } = parts

  return {
    ...createReaders(parts),

    createMaintenance: async (call) => {
      const { principal, body } = call
      const { organizationId } = principal
      check(body, clock())
      const row = await db.tenant(organizationId, async (tx) => {
        const window = { id: uuidv7(), title: body.title, fields: body, createdAt: clock() }
        const made = await write(tx, organizationId, window, clock())
        await audit(tx, call, 'maintenance.created', { target: targetOf(made) })
        return made
      })
      return { status: 201, body: toAnswer(row, clock()) }
    },

    patchMaintenance: async (call) => {
      const { principal, params, body } = call
      const { organizationId } = principal
      const row = await db.tenant(organizationId, async (tx) => {
        const before = found(await lockMaintenance(tx, organizationId, params.id))
        const fields = merge(before, body)
        check(fields, clock())
        await endMaintenance(tx, organizationId, before.version, new Date(clock()))
        const title = body.title ?? before.title
        const window = { id: before.id, title, fields, createdAt: before.created_at.getTime() }
        const after = await write(tx, organizationId, window, clock())
        await reconsiderAlerts(tx, organizationId, new Date(clock()))
        await audit(tx, call, 'maintenance.changed', {
          target: targetOf(after),
          details: { fields: Object.keys(body) }
        })
        return after
      })
      return { status: 200, body: toAnswer(row, clock()) }
    },

    deleteMaintenance: async (call) => {
      const { principal, params } = call
      const { organizationId } = principal
      await db.tenant(organizationId, async (tx) => {
        const row = found(await lockMaintenance(tx, organizationId, params.id))
        await endMaintenance(tx, organizationId, row.version, new Date(clock()))
        await reconsiderAlerts(tx, organizationId, new Date(clock()))
        await audit(tx, call, 'maintenance.deleted', { target: targetOf(row) })
      })
      return { status: 204 }
    }
  }
}
