import { MAX_PAGE } from '../../shared/contract/fields.ts'
import { EXPORT_TYPES } from '../../shared/contract/heartbeats.ts'
import { AppError } from '../../shared/errors.ts'
import type { Caller } from '../../shared/identity/caller.ts'
import { MAX_ITEMS } from '../../shared/protocol/heartbeat.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import { findMonitor } from '../../shared/store/monitors.ts'
import { acceptedFormat, exportRows } from '../history/export.ts'
import { readHistory, resolutionOf } from '../history/read-history.ts'
import { historyWindow, type Window } from '../history/window.ts'
import type { Principal } from '../http/authenticate.ts'
import type { Handlers } from '../http/contract.ts'
import type { Parts } from '../parts.ts'

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

const DEFAULT_LIMIT = 100

/** @throws AppError not_found when the key may not read it */
async function requireInSet(callers: Parts['callers'], principal: Principal, monitorId: string): Promise<void> {
  if (principal.kind === 'user' || principal.caller.monitors.has(monitorId)) return
  // The cached caller may be older than the monitor.
  if (!(await callers.refreshed(principal.caller)).monitors.has(monitorId)) throw new AppError('not_found')
}

function planOfCaller(principal: Principal): string {
  return principal.kind === 'key' ? principal.caller.plan : principal.plan
}

/** What a page tells in its body, for those who get a stream. */
function exportHeaders(monitorId: string, format: 'csv' | 'ndjson', window: Window): Record<string, string> {
  const { resolution, retentionFrom, clamped } = window
  return {
    'Content-Type': EXPORT_TYPES[format],
    'Content-Disposition': `attachment; filename="heartbeats-${monitorId}-${resolution}.${format}"`,
    'Pulsegate-Resolution': resolution,
    ...(retentionFrom === null ? {} : { 'Pulsegate-Retention-From': formatTimestamp(retentionFrom) }),
    'Pulsegate-Clamped': String(clamped)
  }
}

const VARY = { Vary: 'Accept' }

function createReader(parts: Parts): Handlers['readHeartbeats'] {
  const { callers, readDb, clock } = parts
  return async ({ principal, query, request }) => {
    const { organizationId } = principal
    const monitorId = query.monitorId.toLowerCase()
    const now = clock()
    const window = historyWindow(query, planOfCaller(principal), now, resolutionOf(query.cursor))
    await requireInSet(callers, principal, monitorId)
    const format = query.format ?? acceptedFormat(request.headers.accept)
    let left = query.limit ?? (format === 'json' ? DEFAULT_LIMIT : Number.POSITIVE_INFINITY)
    /** A transaction of its own for each page: who reads slowly holds nothing up. */
    const read = (cursor: string | undefined) =>
      readDb.tenant(organizationId, async (tx) => {
        const monitor = await findMonitor(tx, organizationId, monitorId)
        if (monitor === undefined) throw new AppError('not_found')
        const { status = null, order } = query
        const scope = { organizationId, monitorId, monitor, window, status, order, now }
        const batch = await readHistory(tx, scope, cursor, Math.min(left, MAX_PAGE))
        left -= batch.rows.length
        return left > 0 || format === 'json' ? batch : { ...batch, next: null }
      })
    const first = await read(query.cursor)
    if (format !== 'json') {
      const raw = window.resolution === 'raw'
      const headers = { ...VARY, ...exportHeaders(monitorId, format, window) }
      return { status: 200, headers, stream: exportRows({ format, raw, first, read }) }
    }
    const { resolution, retentionFrom, clamped } = window
    const shown = retentionFrom === null ? null : formatTimestamp(retentionFrom)
    const body = { data: first.rows, nextCursor: first.next, resolution, retentionFrom: shown, clamped }
    return { status: 200, headers: VARY, body }
  }
}

export function createHeartbeatHandlers(parts: Parts): Pick<Handlers, 'postHeartbeats' | 'readHeartbeats'> {
  const { callers, door } = parts

  async function callerOf(principal: Principal): Promise<Caller> {
    if (principal.kind === 'key') return principal.caller
    const { userId, organizationId, plan } = principal
    return callers.byUser({ id: userId, organizationId, plan })
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

    readHeartbeats: createReader(parts)
  }
}
