import { isDeepStrictEqual } from 'node:util'
import { monitorFaults } from '../../shared/contract/monitor-faults.ts'
import {
  type CreateMonitorBody,
  type PatchMonitorBody,
  STANDARD_INTERVAL_SECONDS
} from '../../shared/contract/monitors.ts'
import type { FieldFault } from '../../shared/errors.ts'
import type { MonitorKind } from '../../shared/protocol/frames.ts'
import { isTimezone, scheduleFault, shortestGap } from '../../shared/schedule/cron.ts'
import type { MonitorFields, MonitorRow } from '../../shared/store/monitors.ts'
import { validationFailed } from '../http/validate.ts'

/** What decides when a monitor is missed. */
const TIMING = ['intervalSeconds', 'graceSeconds', 'schedule', 'timezone', 'maxRuntimeSeconds'] as const

function defaultGrace(intervalSeconds: number): number {
  return Math.max(30, Math.ceil(intervalSeconds / 5))
}

interface Wanted {
  intervalSeconds: number | undefined
  schedule: string | null
  timezone: string | null
}

function fault(field: string, code: string, detail: string): FieldFault {
  return { pointer: `/${field}`, code, detail }
}

/** Schedule, zone and interval that fit each other. @throws AppError validation_failed */
function timingOf({ intervalSeconds, schedule, timezone }: Wanted, standard: number, now: number) {
  if (schedule === null) return { intervalSeconds: intervalSeconds ?? standard, schedule, timezone: null }
  if (intervalSeconds !== undefined) {
    throw validationFailed([fault('intervalSeconds', 'invalid_value', 'Give an interval or a schedule, not both.')])
  }
  const zone = timezone ?? 'UTC'
  if (!isTimezone(zone)) {
    throw validationFailed([fault('timezone', 'unknown_timezone', 'Name a time zone, such as Europe/Berlin or UTC.')])
  }
  const wrong = scheduleFault(schedule, zone, now)
  if (wrong !== null) throw validationFailed([fault('schedule', 'invalid_schedule', wrong)])
  return { intervalSeconds: shortestGap(schedule, zone, now), schedule, timezone: zone }
}

/** The fields of a new monitor, with what was left out. @throws AppError validation_failed */
export function fieldsOfNew(body: CreateMonitorBody, now: number): MonitorFields {
  const { schedule = null, timezone = null } = body
  const wanted = { intervalSeconds: body.intervalSeconds, schedule, timezone }
  const timing = timingOf(wanted, STANDARD_INTERVAL_SECONDS, now)
  return {
    name: body.name,
    target: body.target ?? null,
    ...timing,
    confirmations: body.confirmations,
    recoveries: body.recoveries,
    quorum: body.quorum,
    maxRuntimeSeconds: body.maxRuntimeSeconds ?? null,
    resumeOnPing: body.resumeOnPing,
    agentIsTarget: body.agentIsTarget,
    graceSeconds: body.graceSeconds ?? defaultGrace(timing.intervalSeconds),
    timeoutSeconds: body.timeoutSeconds ?? Math.min(10, timing.intervalSeconds),
    settings: body.settings ?? {},
    tags: body.tags,
    parentIds: body.parentIds
  }
}

/** The fields of a monitor as they are. */
export function fieldsOf(row: MonitorRow): MonitorFields {
  return {
    name: row.name,
    target: row.target,
    intervalSeconds: row.interval_seconds,
    schedule: row.schedule,
    timezone: row.timezone,
    confirmations: row.confirmations,
    recoveries: row.recoveries,
    quorum: row.quorum,
    maxRuntimeSeconds: row.max_runtime_seconds,
    resumeOnPing: row.resume_on_ping,
    agentIsTarget: row.agent_is_target,
    graceSeconds: row.grace_seconds,
    timeoutSeconds: row.timeout_seconds,
    settings: row.settings,
    tags: row.tags,
    parentIds: row.parent_ids
  }
}

/** What a change makes of them. @throws AppError validation_failed */
export function fieldsAfter(row: MonitorRow, body: PatchMonitorBody, now: number): MonitorFields {
  const before = fieldsOf(row)
  const schedule = body.schedule === undefined ? before.schedule : body.schedule
  const timezone = body.timezone ?? (schedule === null ? null : before.timezone)
  const isTimed = body.intervalSeconds !== undefined || body.schedule !== undefined || body.timezone !== undefined
  const wanted = { intervalSeconds: body.intervalSeconds, schedule, timezone }
  const maxRuntimeSeconds = body.maxRuntimeSeconds === undefined ? before.maxRuntimeSeconds : body.maxRuntimeSeconds
  const fields = { ...before, ...given(body), maxRuntimeSeconds, schedule, timezone }
  refuse(row.kind, fields)
  return isTimed ? { ...fields, ...timingOf(wanted, before.intervalSeconds, now) } : fields
}

/** The plain fields that a change names. */
function given(body: PatchMonitorBody): Partial<MonitorFields> {
  const { schedule: _schedule, timezone: _timezone, maxRuntimeSeconds: _maxRuntime, ...plain } = body
  // Absent ones are absent, never undefined: the body was parsed.
  return plain as Partial<MonitorFields>
}

function refuse(kind: MonitorKind, fields: MonitorFields): void {
  const faults = monitorFaults({ ...fields, kind })
  if (faults.length > 0) throw validationFailed(faults.map(([field, detail]) => fault(field, 'invalid_value', detail)))
}

/** The names of the fields that are not what they were: a value may hold a secret, such as a token in a target. */
export function changedFields(before: MonitorRow, after: MonitorRow): Array<keyof MonitorFields> {
  const [old, now] = [fieldsOf(before), fieldsOf(after)]
  // The names are those of the literal above.
  return (Object.keys(now) as Array<keyof MonitorFields>).filter((name) => !isDeepStrictEqual(old[name], now[name]))
}

/** Does the change concern when the monitor is missed? */
export function changesTiming(names: ReadonlyArray<keyof MonitorFields>): boolean {
  return TIMING.some((name) => names.includes(name))
}
