import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { retentionFrom } from '../../shared/plans.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import { findExplanation, listOutagesSince } from '../../shared/store/explanations.ts'
import { findLastHeartbeat } from '../../shared/store/heartbeats.ts'
import { findMonitor, type MonitorRow } from '../../shared/store/monitors.ts'
import { BUCKET_MS } from '../../shared/store/rollups.ts'
import { type IncidentRow, listIncidents } from '../../shared/store/transitions.ts'
import { bucketSpan, summarize } from '../history/buckets.ts'
import { explain } from '../history/explain.ts'
import { summaryWindow, type Window } from '../history/window.ts'
import type { Principal } from '../http/authenticate.ts'
import type { Handlers } from '../http/contract.ts'
import { cutPage, readCursor, writeCursor } from '../http/cursor.ts'
import type { Parts } from '../parts.ts'

const PLACE_CURSOR = /^\d{1,15}\.\d{1,15}$/

type HistoryHandlers = Pick<Handlers, 'summarizeMonitor' | 'listIncidents' | 'explainMonitor'>

/** A key sees its own set only. @throws AppError not_found */
function requireInSet(principal: Principal, monitorId: string): void {
  if (principal.kind === 'key' && !principal.caller.monitors.has(monitorId)) throw new AppError('not_found')
}

/** @throws AppError not_found */
async function read(tx: Queryable, principal: Principal, id: string): Promise<MonitorRow> {
  requireInSet(principal, id)
  const monitor = await findMonitor(tx, principal.organizationId, id)
  if (monitor === undefined) throw new AppError('not_found')
  return monitor
}

function planOfCaller(principal: Principal): string {
  return principal.kind === 'key' ? principal.caller.plan : principal.plan
}

/** Widened to whole buckets, but not into what is not shown any more. */
function widened({ resolution, from, to, retentionFrom: kept }: Window) {
  const rollup = resolution === 'raw' ? '5m' : resolution
  const step = BUCKET_MS[rollup]
  const floor = Math.floor(from / step) * step
  const begin = kept !== null && floor < kept ? Math.ceil(from / step) * step : floor
  return { rollup, begin, end: Math.max(begin, to) }
}

function createSummary({ readDb, clock }: Parts): HistoryHandlers['summarizeMonitor'] {
  return async ({ principal, params, query }) => {
    const { organizationId } = principal
    const now = clock()
    const window = summaryWindow(query, planOfCaller(principal), now)
    const { rollup, begin, end } = widened(window)
    const { whole, buckets } = await readDb.tenant(organizationId, async (tx) => {
      const monitor = await read(tx, principal, params.id)
      const scope = { organizationId, monitor, rollup, from: begin, to: end, now }
      const span = await bucketSpan(tx, scope)
      return summarize(tx, scope, span.begin, span.end)
    })
    const kept = window.retentionFrom
    const step = BUCKET_MS[rollup]
    return {
      status: 200,
      body: {
        from: formatTimestamp(begin),
        to: formatTimestamp(Math.max(begin, Math.min(now, Math.ceil(end / step) * step))),
        resolution: rollup,
        retentionFrom: kept === null ? null : formatTimestamp(kept),
        clamped: window.clamped,
        ...whole,
        buckets: buckets.map(({ at, ...figures }) => ({ at: formatTimestamp(at), ...figures }))
      }
    }
  }
}

function toIncident({ at, ended_at, reason }: IncidentRow, now: number) {
  const end = ended_at?.getTime() ?? now
  return {
    from: formatTimestamp(at.getTime()),
    to: ended_at === null ? null : formatTimestamp(end),
    seconds: Math.max(0, end - at.getTime()) / 1000,
    reason
  }
}

function createIncidents({ readDb, clock }: Parts): HistoryHandlers['listIncidents'] {
  return async ({ principal, params, query: { cursor, limit } }) => {
    const { organizationId } = principal
    const now = clock()
    const place = readCursor(cursor, PLACE_CURSOR)
    const after = place === null ? null : { at: Number(place[0]), id: Number(place[1]) }
    const endedAfter = retentionFrom(planOfCaller(principal), '1d', now)
    const rows = await readDb.tenant(organizationId, async (tx) => {
      const { key } = await read(tx, principal, params.id)
      return listIncidents(tx, { organizationId, monitorKey: key, after, limit: limit + 1, endedAfter })
    })
    const { page, nextCursor } = cutPage(rows, limit, (last) => writeCursor(last.at.getTime(), last.id))
    return { status: 200, body: { data: page.map((row) => toIncident(row, now)), nextCursor } }
  }
}

export function createHistoryHandlers(parts: Parts): HistoryHandlers {
  return {
    summarizeMonitor: createSummary(parts),
    listIncidents: createIncidents(parts),
    explainMonitor: async ({ principal, params: { id } }) => {
      const { organizationId } = principal
      requireInSet(principal, id)
      return parts.readDb.tenant(organizationId, async (tx) => {
        const row = await findExplanation(tx, organizationId, id)
        if (row === undefined) throw new AppError('not_found')
        const last = await findLastHeartbeat(tx, organizationId, row.key)
        const outages = row.last_received_at === null ? [] : await listOutagesSince(tx, row.last_received_at)
        return { status: 200, body: explain(id, { row, last, outages }) }
      })
    }
  }
}
