import type { HistoryQuery } from '../../shared/contract/heartbeats.ts'
import { AppError } from '../../shared/errors.ts'
import type { Caller } from '../../shared/identity/caller.ts'
import { rawRetentionMs } from '../../shared/plans.ts'
import { MAX_FUTURE_MS, MAX_ITEMS } from '../../shared/protocol/heartbeat.ts'
import { formatTimestamp, parseTimestamp } from '../../shared/protocol/timestamp.ts'
import { type HistoryRow, listHeartbeats } from '../../shared/store/heartbeats.ts'
import { findMonitor } from '../../shared/store/monitors.ts'
import type { Principal } from '../http/authenticate.ts'
import type { Handlers } from '../http/contract.ts'
import { cutPage, readCursor, writeCursor } from '../http/cursor.ts'
import type { Parts } from '../parts.ts'

const CURSOR = /^\d{1,15}\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function itemsOf(body: unknown): readonly unknown[] {
  const items = Array.isArray(body) ? body : [body]
  if (items.length > MAX_ITEMS) {
    throw new AppError('payload_too_large', { detail: `Send at most ${MAX_ITEMS} heartbeats at once.` })
  }
  if (items.length === 0) throw new AppError('validation_failed', { detail: 'Send at least one heartbeat.' })
  return items
}

function knowsAll(caller: Caller, items: readonly unknown[]): boolean {
  return items.every((item) => {
    const monitorId = (item as { monitorId?: unknown } | null)?.monitorId
    return typeof monitorId !== 'string' || caller.monitors.has(monitorId)
  })
}

/** The window really read: never older than the plan keeps, and open at the new end unless `to` says otherwise. */
function windowOf(query: HistoryQuery, plan: string, now: number) {
  const retentionFrom = now - rawRetentionMs(plan)
  const wanted = query.from === undefined ? retentionFrom : parseTimestamp(query.from)
  return {
    retentionFrom,
    from: Math.max(wanted, retentionFrom),
    // The newest heartbeats may be ahead of our clock by what the door allows.
    to: query.to === undefined ? now + MAX_FUTURE_MS + 1 : parseTimestamp(query.to),
    clamped: wanted < retentionFrom
  }
}

function toRow(monitorId: string, row: HistoryRow) {
  return {
    monitorId,
    status: row.status,
    latency: row.latency,
    timestamp: formatTimestamp(row.timestamp.getTime()),
    receivedAt: formatTimestamp(row.received_at.getTime()),
    source: row.source_id,
    message: row.message
  }
}

export function createHeartbeatHandlers(parts: Parts): Pick<Handlers, 'postHeartbeats' | 'readHeartbeats'> {
  const { callers, door, readDb, clock } = parts

  async function callerOf(principal: Principal): Promise<Caller> {
    if (principal.kind === 'key') return principal.caller
    const { userId, organizationId, plan } = principal
    return callers.byUser({ id: userId, organizationId, plan })
  }

  /** @throws AppError not_found */
  async function monitorKeyOf(principal: Principal, monitorId: string): Promise<number> {
    if (principal.kind === 'key') {
      const known = principal.caller.monitors.get(monitorId)
      const key = known ?? (await callers.refreshed(principal.caller)).monitors.get(monitorId)
      if (key === undefined) throw new AppError('not_found')
      return key
    }
    const { organizationId } = principal
    const monitor = await parts.db.tenant(organizationId, (tx) => findMonitor(tx, organizationId, monitorId))
    if (monitor === undefined) throw new AppError('not_found')
    return monitor.key
  }

  return {
    postHeartbeats: async ({ principal, body }) => {
      const items = itemsOf(body)
      let caller = await callerOf(principal)
      // The cached caller may be older than the monitor it reports.
      if (!knowsAll(caller, items)) caller = await callers.refreshed(caller)
      const { accepted, rejected } = await door.submit(caller, items)
      if (accepted === 0) {
        throw new AppError('heartbeats_rejected', { detail: 'See `rejected`.', extra: { rejected } })
      }
      return { status: 202, body: { accepted, rejected: [...rejected] } }
    },

    readHeartbeats: async ({ principal, query }) => {
      const { organizationId } = principal
      const monitorId = query.monitorId.toLowerCase()
      const place = readCursor(query.cursor, CURSOR)
      const monitorKey = await monitorKeyOf(principal, monitorId)
      const plan = principal.kind === 'key' ? principal.caller.plan : principal.plan
      const { retentionFrom, from, to, clamped } = windowOf(query, plan, clock())
      const rows = await readDb.tenant(organizationId, (tx) =>
        listHeartbeats(tx, {
          organizationId,
          monitorKey,
          from,
          to,
          status: query.status ?? null,
          order: query.order,
          after: place === null ? null : { timestamp: Number(place[0]), sourceId: String(place[1]) },
          limit: query.limit + 1
        })
      )
      const { page, nextCursor } = cutPage(rows, query.limit, (last) =>
        writeCursor(last.timestamp.getTime(), last.source_id)
      )
      return {
        status: 200,
        body: {
          data: page.map((row) => toRow(monitorId, row)),
          nextCursor,
          resolution: 'raw',
          retentionFrom: formatTimestamp(retentionFrom),
          clamped
        }
      }
    }
  }
}
