import { mayRole } from '../../shared/contract/permissions.ts'
import type { Routes } from '../../shared/contract/routes.ts'
import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { retentionFrom } from '../../shared/plans.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import { findExplanation, listOutagesSince } from '../../shared/store/explanations.ts'
import { findLastHeartbeat } from '../../shared/store/heartbeats.ts'
import { findMaintenanceEnds } from '../../shared/store/maintenance.ts'
import { findMutedByParents } from '../../shared/store/monitor-parents.ts'
import { findMonitor, type MonitorRow } from '../../shared/store/monitors.ts'
import { BUCKET_MS } from '../../shared/store/rollups.ts'
import { type IncidentRow, listIncidents, listTransitions, type TransitionRow } from '../../shared/store/transitions.ts'
import { bucketSpan, summarize } from '../history/buckets.ts'
import { explain } from '../history/explain.ts'
import { readVotes } from '../history/votes.ts'
import { summaryWindow, type Window } from '../history/window.ts'
import type { Principal } from '../http/authenticate.ts'
import type { Call, Handlers } from '../http/contract.ts'
import { cutPage, readCursor, writeCursor } from '../http/cursor.ts'
import type { Parts } from '../parts.ts'

const PLACE_CURSOR = /^\d{1,15}\.\d{1,15}$/

type HistoryHandlers = Pick<Handlers, 'summarizeMonitor' | 'listTransitions' | 'listIncidents' | 'explainMonitor'>

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

function toTransition({ from_state: from, to_state: to, at, reason }: TransitionRow) {
  return { from, to, at: formatTimestamp(at.getTime()), reason }
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

/** A page of what is kept as long as days, newest first, without what the plan does not show any more. */
function toPage<Row extends { id: number; at: Date }>(
  rows: readonly Row[],
  { plan, now, limit, endOf }: { plan: string; now: number; limit: number; endOf: (row: Row) => number }
) {
  const kept = retentionFrom(plan, '1d', now)
  const shown = rows.filter((row) => kept === null || endOf(row) >= kept)
  const { page, nextCursor } = cutPage(shown, limit, (last) => writeCursor(last.at.getTime(), last.id))
  return {
    page,
    nextCursor,
    retentionFrom: kept === null ? null : formatTimestamp(kept),
    clamped: shown.length < rows.length
  }
}

type Lists = Pick<HistoryHandlers, 'listTransitions' | 'listIncidents'>

function createLists({ readDb, clock }: Parts): Lists {
  function readRows<Row>(
    {
      principal,
      params,
      query: { cursor, limit }
    }: Pick<Call<Routes['listIncidents']>, 'principal' | 'params' | 'query'>,
    list: (tx: Queryable, page: Parameters<typeof listIncidents>[1]) => Promise<Row[]>
  ): Promise<Row[]> {
    const { organizationId } = principal
    const place = readCursor(cursor, PLACE_CURSOR)
    const after = place === null ? null : { at: Number(place[0]), id: Number(place[1]) }
    return readDb.tenant(organizationId, async (tx) => {
      const { key } = await read(tx, principal, params.id)
      return list(tx, { organizationId, monitorKey: key, after, limit: limit + 1 })
    })
  }

  return {
    listTransitions: async (call) => {
      const scope = { plan: planOfCaller(call.principal), now: clock(), limit: call.query.limit }
      const rows = await readRows(call, listTransitions)
      const { page, ...rest } = toPage(rows, { ...scope, endOf: ({ at }) => at.getTime() })
      return { status: 200, body: { data: page.map(toTransition), ...rest } }
    },

    listIncidents: async (call) => {
      const now = clock()
      const scope = { plan: planOfCaller(call.principal), now, limit: call.query.limit }
      const rows = await readRows(call, listIncidents)
      const { page, ...rest } = toPage(rows, { ...scope, endOf: ({ ended_at: end }) => end?.getTime() ?? now })
      return { status: 200, body: { data: page.map((row) => toIncident(row, now)), ...rest } }
    }
  }
}

export function createHistoryHandlers(parts: Parts): HistoryHandlers {
  return {
    summarizeMonitor: createSummary(parts),
    ...createLists(parts),
    explainMonitor: async ({ principal, params: { id } }) => {
      const { organizationId } = principal
      requireInSet(principal, id)
      const namesAgents = principal.kind === 'user' && mayRole(principal.role, 'agents:read')
      return parts.readDb.tenant(organizationId, async (tx) => {
        const row = await findExplanation(tx, organizationId, id)
        if (row === undefined) throw new AppError('not_found')
        const last = await findLastHeartbeat(tx, organizationId, row.key)
        const outages = row.last_received_at === null ? [] : await listOutagesSince(tx, row.last_received_at)
        const now = parts.clock()
        const votes = await readVotes(tx, organizationId, row, now)
        const maintenanceUntil = (await findMaintenanceEnds(tx, new Map([[row.key, now]]))).get(row.key) ?? null
        const muted = (await findMutedByParents(tx, [row.key])).has(row.key)
        const facts = { row, last, outages, votes, namesAgents, maintenanceUntil, muted }
        return { status: 200, body: explain(id, facts) }
      })
    }
  }
}
