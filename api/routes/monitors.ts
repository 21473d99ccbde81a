import { v7 as uuidv7 } from 'uuid'
import { AppError } from '../../shared/errors.ts'
import { recountVotes, restartClock } from '../../shared/store/monitor-switches.ts'
import { deleteMonitor, insertMonitor, listMonitors, lockMonitor, updateMonitor } from '../../shared/store/monitors.ts'
import { readOverviews } from '../history/overview.ts'
import { audit } from '../http/audit.ts'
import type { Handlers } from '../http/contract.ts'
import { cutPage, readCursor, UUID_CURSOR, writeCursor } from '../http/cursor.ts'
import { requireInterval, requireRoom } from '../http/plan-limits.ts'
import type { Addresses, Parts } from '../parts.ts'
import { announce, createTools, read, type Tools, targetOf, withMaintenance } from './monitor-answer.ts'
import { changedFields, changesTiming, fieldsAfter, fieldsOfNew } from './monitor-fields.ts'
import { writeParents } from './monitor-parents.ts'
import { createSwitchHandlers } from './monitor-switches.ts'

type Switches = 'pauseMonitor' | 'resumeMonitor' | 'changeMonitors'
type MonitorHandlers = Pick<
  Handlers,
  'listMonitors' | 'createMonitor' | 'readMonitor' | 'patchMonitor' | 'deleteMonitor' | Switches
>

type Readers = 'listMonitors' | 'readMonitor'

function createReaders({ db, readDb, clock }: Parts, { toMonitor }: Tools): Pick<MonitorHandlers, Readers> {
  return {
    listMonitors: async ({ principal, query: { cursor, limit, expand } }) => {
      const { organizationId } = principal
      const [after = null] = readCursor(cursor, UUID_CURSOR) ?? []
      const ids = principal.kind === 'key' ? [...principal.caller.monitors.keys()] : null
      const now = clock()
      const rows = await db.tenant(organizationId, async (tx) =>
        withMaintenance(
          tx,
          organizationId,
          await listMonitors(tx, { organizationId, ids, after, limit: limit + 1 }),
          now
        )
      )
      const { page, nextCursor } = cutPage(rows, limit, (last) => writeCursor(last.id))
      const overviews =
        expand === undefined
          ? null
          : await readDb.tenant(organizationId, (tx) => readOverviews(tx, organizationId, page, now))
      const data = page.map((row) => {
        const overview = overviews?.get(row.key)
        return { ...toMonitor(row, principal), ...(overview === undefined ? {} : { overview }) }
      })
      return { status: 200, body: { data, nextCursor } }
    },

    readMonitor: async ({ principal, params }) => {
      const row = await db.tenant(principal.organizationId, (tx) => read(tx, principal, params.id, clock()))
      return { status: 200, body: toMonitor(row, principal, true) }
    }
  }
}

function createWriters(parts: Parts, { toMonitor, givePushUrl }: Tools): Omit<MonitorHandlers, Readers | Switches> {
  const { db, clock } = parts
  return {
    createMonitor: async (call) => {
      const { principal, body } = call
      const { organizationId } = principal
      const id = uuidv7()
      const row = await db.tenant(organizationId, async (tx) => {
        const fields = fieldsOfNew(body, clock())
        requireInterval(principal.plan, fields.intervalSeconds)
        await requireRoom(tx, organizationId, principal.plan, 'monitors')
        const key = await insertMonitor(tx, organizationId, { ...fields, id, kind: body.kind })
        await writeParents(tx, organizationId, key, body.parentIds)
        if (body.kind === 'push') await givePushUrl(tx, organizationId, id, key)
        const target = targetOf({ id, name: body.name })
        await audit(tx, call, 'monitor.created', { target, details: { kind: body.kind } })
        return read(tx, principal, id, clock())
      })
      await announce(parts, organizationId)
      return { status: 201, body: toMonitor(row, principal) }
    },

    patchMonitor: async (call) => {
      const { principal, body } = call
      const { id } = call.params
      const { organizationId } = principal
      const row = await db.tenant(organizationId, async (tx) => {
        const before = await lockMonitor(tx, organizationId, id)
        if (before === undefined) throw new AppError('not_found')
        const fields = fieldsAfter(before, body, clock())
        requireInterval(principal.plan, fields.intervalSeconds, before.interval_seconds)
        await updateMonitor(tx, organizationId, id, fields)
        if (body.parentIds !== undefined) await writeParents(tx, organizationId, before.key, body.parentIds)
        const after = await read(tx, principal, id, clock())
        const names = changedFields(before, after)
        if (names.length === 0) return after
        await audit(tx, call, 'monitor.changed', { target: targetOf(after), details: { fields: names } })
        const at = new Date(clock())
        if (names.includes('quorum')) await recountVotes(tx, { organizationId, ids: [after.id], at })
        if (!changesTiming(names)) return after
        const keepRuns = after.max_runtime_seconds !== null
        await restartClock(tx, { organizationId, monitorKey: after.key, at, keepRuns })
        return read(tx, principal, id, clock())
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
  return { ...createReaders(parts, tools), ...createWriters(parts, tools), ...createSwitchHandlers(parts, tools) }
}
