import { isDeepStrictEqual } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import { type MonitorAnswer, monitorFaults, type PatchMonitorBody } from '../../shared/contract/monitors.ts'
import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { randomBase62 } from '../../shared/identity/api-key.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import {
  deleteMonitor,
  findMonitor,
  insertMonitor,
  listMonitors,
  lockMonitor,
  type MonitorFields,
  type MonitorRow,
  updateMonitor
} from '../../shared/store/monitors.ts'
import { insertPushUrl } from '../../shared/store/push-urls.ts'
import { listTransitions } from '../../shared/store/transitions.ts'
import { readOverviews } from '../history/overview.ts'
import { announceChanges } from '../http/announce-change.ts'
import { audit } from '../http/audit.ts'
import type { Principal } from '../http/authenticate.ts'
import type { Handlers } from '../http/contract.ts'
import { cutPage, readCursor, UUID_CURSOR, writeCursor } from '../http/cursor.ts'
import { requireInterval, requireRoom } from '../http/plan-limits.ts'
import { validationFailed } from '../http/validate.ts'
import type { Addresses, Parts } from '../parts.ts'

const TOKEN_LENGTH = 32
const PLACE_CURSOR = /^\d{1,15}\.\d{1,15}$/

function pushContext(monitorId: string): string {
  return `push-url/${monitorId}`
}

function defaultGrace(intervalSeconds: number): number {
  return Math.max(30, Math.ceil(intervalSeconds / 5))
}

function defaultTimeout(intervalSeconds: number): number {
  return Math.min(10, intervalSeconds)
}

function changed(row: MonitorRow, body: PatchMonitorBody): MonitorFields {
  return {
    name: body.name ?? row.name,
    target: body.target ?? row.target,
    intervalSeconds: body.intervalSeconds ?? row.interval_seconds,
    graceSeconds: body.graceSeconds ?? row.grace_seconds,
    timeoutSeconds: body.timeoutSeconds ?? row.timeout_seconds,
    settings: body.settings ?? row.settings,
    tags: body.tags ?? row.tags
  }
}

/** The names of the fields that are not what they were: a value may hold a secret, such as a token in a target. */
function changedFields(before: MonitorRow, after: MonitorRow, body: PatchMonitorBody): string[] {
  const same = changed(before, {})
  // The names of a parsed body are those of its schema.
  const named = Object.keys(body) as Array<keyof PatchMonitorBody>
  const now = changed(after, {})
  return named.filter((field) => !isDeepStrictEqual(same[field], now[field]))
}

function targetOf({ id, name }: { id: string; name: string }) {
  return { kind: 'monitor', id, name }
}

/** A key sees its own set only. */
function maySee(principal: Principal, monitorId: string): boolean {
  return principal.kind === 'user' || principal.caller.monitors.has(monitorId)
}

type MonitorHandlers = Pick<
  Handlers,
  'listMonitors' | 'createMonitor' | 'readMonitor' | 'patchMonitor' | 'deleteMonitor' | 'listTransitions'
>

interface Tools {
  toMonitor(row: MonitorRow, principal: Principal): MonitorAnswer
  givePushUrl(tx: Queryable, organizationId: string, monitorId: string, monitorKey: number): Promise<void>
}

/** @throws AppError not_found */
async function read(tx: Queryable, principal: Principal, id: string): Promise<MonitorRow> {
  const row = maySee(principal, id) ? await findMonitor(tx, principal.organizationId, id) : undefined
  if (row === undefined) throw new AppError('not_found')
  return row
}

function createTools({ secrets }: Parts, { apiUrl }: Addresses): Tools {
  /** The push URL is a secret that lets its holder report, so a key never sees it. */
  function pushUrlOf(row: MonitorRow, principal: Principal): { pushUrl?: string } {
    if (row.token_sealed === null || principal.kind === 'key') return {}
    return { pushUrl: `${apiUrl}/push/${secrets.open(row.token_sealed, pushContext(row.id))}` }
  }

  function toMonitor(row: MonitorRow, principal: Principal): MonitorAnswer {
    return {
      id: row.id,
      name: row.name,
      kind: row.kind,
      ...(row.target === null ? {} : { target: row.target }),
      intervalSeconds: row.interval_seconds,
      graceSeconds: row.grace_seconds,
      timeoutSeconds: row.timeout_seconds,
      settings: row.settings,
      tags: row.tags,
      state: row.state,
      stateReason: row.state_reason,
      stateSince: formatTimestamp(row.state_since.getTime()),
      lastHeartbeatAt: row.last_heartbeat_at === null ? null : formatTimestamp(row.last_heartbeat_at.getTime()),
      createdAt: formatTimestamp(row.created_at.getTime()),
      ...pushUrlOf(row, principal)
    }
  }

  async function givePushUrl(
    tx: Queryable,
    organizationId: string,
    monitorId: string,
    monitorKey: number
  ): Promise<void> {
    const token = randomBase62(TOKEN_LENGTH)
    await insertPushUrl(tx, {
      id: uuidv7(),
      organizationId,
      monitorKey,
      tokenDigest: secrets.digest(token),
      tokenSealed: secrets.seal(token, pushContext(monitorId)),
      pepperVersion: secrets.version
    })
  }

  return { toMonitor, givePushUrl }
}

function announce(parts: Parts, organizationId: string): Promise<void> {
  return announceChanges(parts, [{ type: 'organization_changed', organizationId }])
}

type Readers = 'listMonitors' | 'readMonitor' | 'listTransitions'

function createReaders({ db, readDb, clock }: Parts, { toMonitor }: Tools): Pick<MonitorHandlers, Readers> {
  return {
    listMonitors: async ({ principal, query: { cursor, limit, expand } }) => {
      const { organizationId } = principal
      const [after = null] = readCursor(cursor, UUID_CURSOR) ?? []
      const ids = principal.kind === 'key' ? [...principal.caller.monitors.keys()] : null
      const rows = await db.tenant(organizationId, (tx) =>
        listMonitors(tx, { organizationId, ids, after, limit: limit + 1 })
      )
      const { page, nextCursor } = cutPage(rows, limit, (last) => writeCursor(last.id))
      const overviews =
        expand === undefined
          ? null
          : await readDb.tenant(organizationId, (tx) => readOverviews(tx, organizationId, page, clock()))
      const data = page.map((row) => {
        const overview = overviews?.get(row.key)
        return { ...toMonitor(row, principal), ...(overview === undefined ? {} : { overview }) }
      })
      return { status: 200, body: { data, nextCursor } }
    },

    readMonitor: async ({ principal, params }) => {
      const row = await db.tenant(principal.organizationId, (tx) => read(tx, principal, params.id))
      return { status: 200, body: toMonitor(row, principal) }
    },

    listTransitions: async ({ principal, params, query: { cursor, limit } }) => {
      const { organizationId } = principal
      const place = readCursor(cursor, PLACE_CURSOR)
      const after = place === null ? null : { at: Number(place[0]), id: Number(place[1]) }
      const rows = await db.tenant(organizationId, async (tx) => {
        const { key } = await read(tx, principal, params.id)
        return listTransitions(tx, { organizationId, monitorKey: key, after, limit: limit + 1 })
      })
      const { page, nextCursor } = cutPage(rows, limit, (last) => writeCursor(last.at.getTime(), last.id))
      const data = page.map((row) => ({
        from: row.from_state,
        to: row.to_state,
        at: formatTimestamp(row.at.getTime()),
        reason: row.reason
      }))
      return { status: 200, body: { data, nextCursor } }
    }
  }
}

function createWriters(parts: Parts, { toMonitor, givePushUrl }: Tools): Omit<MonitorHandlers, Readers> {
  const { db } = parts
  return {
    createMonitor: async (call) => {
      const { principal, body } = call
      const { organizationId } = principal
      const id = uuidv7()
      requireInterval(principal.plan, body.intervalSeconds)
      const row = await db.tenant(organizationId, async (tx) => {
        await requireRoom(tx, organizationId, principal.plan, 'monitors')
        const key = await insertMonitor(tx, organizationId, {
          ...body,
          id,
          target: body.target ?? null,
          graceSeconds: body.graceSeconds ?? defaultGrace(body.intervalSeconds),
          timeoutSeconds: body.timeoutSeconds ?? defaultTimeout(body.intervalSeconds),
          settings: body.settings ?? {}
        })
        if (body.kind === 'push') await givePushUrl(tx, organizationId, id, key)
        const target = targetOf({ id, name: body.name })
        await audit(tx, call, 'monitor.created', { target, details: { kind: body.kind } })
        return read(tx, principal, id)
      })
      await announce(parts, organizationId)
      return { status: 201, body: toMonitor(row, principal) }
    },

    patchMonitor: async (call) => {
      const { principal, body } = call
      const { id } = call.params
      const { organizationId } = principal
      // One that a plan before this allowed may stay as it is.
      if (body.intervalSeconds !== undefined) requireInterval(principal.plan, body.intervalSeconds)
      const row = await db.tenant(organizationId, async (tx) => {
        const before = await lockMonitor(tx, organizationId, id)
        if (before === undefined) throw new AppError('not_found')
        const fields = changed(before, body)
        const faults = monitorFaults({ ...fields, kind: before.kind })
        if (faults.length > 0) {
          throw validationFailed(
            faults.map(([field, detail]) => ({ pointer: `/${field}`, code: 'invalid_value', detail }))
          )
        }
        await updateMonitor(tx, organizationId, id, fields)
        const after = await read(tx, principal, id)
        const names = changedFields(before, after, body)
        if (names.length > 0) {
          await audit(tx, call, 'monitor.changed', { target: targetOf(after), details: { fields: names } })
        }
        return after
      })
      await announce(parts, organizationId)
      return { status: 200, body: toMonitor(row, principal) }
    },

    deleteMonitor: async (call) => {
      const { id } = call.params
      const { organizationId } = call.principal
      await db.tenant(organizationId, async (tx) => {
        const name = await deleteMonitor(tx, organizationId, id)
        if (name === undefined) throw new AppError('not_found')
        await audit(tx, call, 'monitor.deleted', { target: targetOf({ id, name }) })
      })
      await announce(parts, organizationId)
      return { status: 204 }
    }
  }
}

export function createMonitorHandlers(parts: Parts, addresses: Addresses): MonitorHandlers {
  const tools = createTools(parts, addresses)
  return { ...createReaders(parts, tools), ...createWriters(parts, tools) }
}
