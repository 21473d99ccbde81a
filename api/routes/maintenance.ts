import { isDeepStrictEqual } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import type { MaintenanceAnswer } from '../../shared/contract/maintenance.ts'
import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import { slotsAfter } from '../../shared/schedule/cron.ts'
import type { WindowTimes } from '../../shared/schedule/maintenance.ts'
import {
  endMaintenance,
  findMaintenance,
  insertMaintenance,
  listMaintenance,
  lockMaintenance,
  type MaintenanceRow,
  timesOf,
  untilOf
} from '../../shared/store/maintenance.ts'
import { findMonitorKeys } from '../../shared/store/monitors.ts'
import { reconsiderAlerts } from '../../shared/store/outbox.ts'
import { audit } from '../http/audit.ts'
import type { Handlers } from '../http/contract.ts'
import { cutPage, readCursor, UUID_CURSOR, writeCursor } from '../http/cursor.ts'
import { validationFailed } from '../http/validate.ts'
import type { Parts } from '../parts.ts'
import { check, type Fields, fault, merge, toTimes } from './maintenance-fields.ts'

function nextBegin(times: WindowTimes, now: number): number | null {
  if ('startsAt' in times) return times.startsAt > now ? times.startsAt : null
  return slotsAfter(times.schedule, times.timezone, now, 1)[0] ?? null
}

function toAnswer(row: MaintenanceRow, now: number): MaintenanceAnswer {
  const times = timesOf(row)
  const next = nextBegin(times, now)
  const until = untilOf(row, now)
  return {
    id: row.id,
    title: row.title,
    ...('startsAt' in times ? { from: formatTimestamp(times.startsAt), to: formatTimestamp(times.endsAt) } : times),
    monitorIds: row.monitor_ids,
    tags: row.tags,
    active: until !== null,
    until: until === null ? null : formatTimestamp(until),
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
  | 'listMaintenance'
  | 'createMaintenance'
  | 'readMaintenance'
  | 'patchMaintenance'
  | 'endMaintenance'
  | 'deleteMaintenance'
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

/** Writes a version that holds from then on. */
async function write(
  tx: Queryable,
  organizationId: string,
  window: { id: string; title: string; fields: Fields; createdAt: number },
  validFrom: number
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
    validFrom: new Date(validFrom)
  })
  return found(await findMaintenance(tx, organizationId, id))
}

/** Ends the version that stands, and begins the one that follows it. */
async function replace(
  tx: Queryable,
  organizationId: string,
  before: MaintenanceRow,
  {
    title = before.title,
    fields,
    validFrom,
    now
  }: { title?: string | undefined; fields: Fields; validFrom: number; now: number }
): Promise<MaintenanceRow> {
  await endMaintenance(tx, organizationId, before.version, new Date(now))
  const window = { id: before.id, title, fields, createdAt: before.created_at.getTime() }
  const after = await write(tx, organizationId, window, validFrom)
  await reconsiderAlerts(tx, organizationId, new Date(now))
  return after
}

/** What once was to go on ends now; what recurs holds again when that which is now would have been over. */
function endedAt(row: MaintenanceRow, until: number, now: number): { fields: Fields; validFrom: number } {
  const fields = merge(row, {})
  if (row.starts_at === null) return { fields, validFrom: until }
  // A window is never empty.
  const to = Math.max(now, row.starts_at.getTime() + 1)
  return { fields: { ...fields, to: formatTimestamp(to) }, validFrom: to }
}

function createEnder({ db, clock }: Parts): Pick<MaintenanceHandlers, 'endMaintenance'> {
  return {
    endMaintenance: async (call) => {
      const { organizationId } = call.principal
      const row = await db.tenant(organizationId, async (tx) => {
        const before = found(await lockMaintenance(tx, organizationId, call.params.id))
        const now = clock()
        const until = untilOf(before, now)
        if (until === null) return before
        const after = await replace(tx, organizationId, before, { ...endedAt(before, until, now), now })
        await audit(tx, call, 'maintenance.ended', { target: targetOf(after) })
        return after
      })
      return { status: 200, body: toAnswer(row, clock()) }
    }
  }
}

export function createMaintenanceHandlers(parts: Parts): MaintenanceHandlers {
  const { db, clock } = parts

  return {
    ...createReaders(parts),
    ...createEnder(parts),

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
        const now = clock()
        check(fields, now)
        // An end that somebody brought about stays, unless the times are others now.
        const isSame = isDeepStrictEqual(toTimes(fields), timesOf(before))
        const validFrom = isSame ? Math.max(now, before.valid_from.getTime()) : now
        const after = await replace(tx, organizationId, before, { title: body.title, fields, validFrom, now })
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
