import { MAX_MAINTENANCE_MINUTES, type MaintenanceBody } from '../../shared/contract/maintenance.ts'
import type { FieldFault } from '../../shared/errors.ts'
import { parseTimestamp } from '../../shared/protocol/timestamp.ts'
import { isTimezone, scheduleFault, shortestGap } from '../../shared/schedule/cron.ts'
import type { WindowTimes } from '../../shared/schedule/maintenance.ts'
import type { MaintenanceRow } from '../../shared/store/maintenance.ts'
import { validationFailed } from '../http/validate.ts'

/** A window may begin this often at most, in seconds. */
const SHORTEST_GAP = 3600
const MS_PER_MINUTE = 60_000

export type Fields = Pick<
  MaintenanceBody,
  'from' | 'to' | 'schedule' | 'timezone' | 'durationMinutes' | 'monitorIds' | 'tags'
>

export function fault(pointer: string, detail: string, code = 'invalid_value'): FieldFault {
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
export function check(fields: Fields, now: number): void {
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
export function toTimes({ from = '', to = '', schedule, timezone = 'UTC', durationMinutes = 0 }: Fields): WindowTimes {
  return schedule === undefined
    ? { startsAt: parseTimestamp(from), endsAt: parseTimestamp(to) }
    : { schedule, timezone, durationMinutes }
}

/** The window with the change; what is told of the other kind, or of the other way to name monitors, replaces it. */
export function merge(row: MaintenanceRow, body: MaintenanceBody): Fields {
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
