import type { Database } from '../../shared/db.ts'
import { RECORD_STATUSES } from '../../shared/protocol/heartbeat.ts'
import { identityOf, type Journal, type SentHeartbeat } from './journal.ts'

/** One row of `heartbeats`. */
export interface FoundRow {
  monitorId: string
  sourceId: string
  /** Epoch ms. */
  timestamp: number
  /** Index in RECORD_STATUSES. */
  status: number
  latency: number | null
}

export interface FoundMonitor {
  monitorId: string
  state: string
  /** Epoch ms. */
  lastHeartbeatAt: number | null
}

export interface FoundTransition {
  monitorId: string
  from: string
  to: string
  /** Epoch ms. */
  at: number
}

/** What is in the database, transitions in the order in which they were written. */
export interface Evidence {
  rows: FoundRow[]
  monitors: FoundMonitor[]
  transitions: FoundTransition[]
}

/** Violations by kind; every list is empty when all promises were kept. */
export interface Verdict {
  /** Acknowledged, and there is no row. */
  lost: string[]
  /** One identity, several rows. */
  twice: string[]
  /** A row that nobody sent. */
  unsent: string[]
  /** A row that says something else than what was sent. */
  altered: string[]
  /** A monitor whose state is not that of its newest heartbeat, or of several agents' newest the worst (`any`). */
  states: string[]
  /** A monitor whose transitions are no unbroken story from `pending` to its state. */
  transitions: string[]
  /** What a gateway did that it may not do. */
  broken: string[]
}

export const NO_VIOLATION: Verdict = {
  lost: [],
  twice: [],
  unsent: [],
  altered: [],
  states: [],
  transitions: [],
  broken: []
}

/** Reads what the tables say about these monitors. `db` runs as pulsegate_system. */
export async function readEvidence(db: Database, monitorIds: readonly string[]): Promise<Evidence> {
  const [rows, monitors, transitions] = await Promise.all([
    db.query<FoundRow>(
      `select m.id as "monitorId", h.source_id as "sourceId", h.status, h.latency,
         round(extract(epoch from h."timestamp") * 1000)::bigint as "timestamp"
       from heartbeats h join monitors m on m.key = h.monitor_key where m.id = any($1::uuid[])`,
      [monitorIds]
    ),
    db.query<FoundMonitor>(
      `select m.id as "monitorId", s.state, round(extract(epoch from s.last_heartbeat_at) * 1000)::bigint as "lastHeartbeatAt"
       from monitor_states s join monitors m on m.key = s.monitor_key where m.id = any($1::uuid[])`,
      [monitorIds]
    ),
    db.query<FoundTransition>(
      `select m.id as "monitorId", t.from_state as "from", t.to_state as "to",
         round(extract(epoch from t.at) * 1000)::bigint as at
       from transitions t join monitors m on m.key = t.monitor_key where m.id = any($1::uuid[]) order by t.id`,
      [monitorIds]
    )
  ])
  return { rows, monitors, transitions }
}

function judgeRows(sent: ReadonlyMap<string, SentHeartbeat>, rows: readonly FoundRow[], verdict: Verdict): void {
  const found = new Set<string>()
  for (const row of rows) {
    const identity = identityOf(row)
    if (found.has(identity)) verdict.twice.push(identity)
    found.add(identity)
    const original = sent.get(identity)
    if (original === undefined) verdict.unsent.push(identity)
    else if (RECORD_STATUSES[row.status] !== original.status || row.latency !== original.latency) {
      verdict.altered.push(identity)
    }
  }
  for (const [identity, { acked }] of sent) if (acked && !found.has(identity)) verdict.lost.push(identity)
}

/** Of each source its newest row. */
function newestRows(rows: readonly FoundRow[]): FoundRow[] {
  const newest = new Map<string, FoundRow>()
  for (const row of rows) {
    if (row.timestamp >= (newest.get(row.sourceId)?.timestamp ?? row.timestamp)) newest.set(row.sourceId, row)
  }
  return [...newest.values()]
}

/** What decides when each of several agents has a vote, the worst first. */
const WORST_FIRST = ['down', 'degraded', 'up']

function expectedState(rows: readonly FoundRow[]): string {
  const said = newestRows(rows).map(({ status }) => RECORD_STATUSES[status] as string)
  return WORST_FIRST.find((status) => said.includes(status)) ?? 'pending'
}

/**
 * Does a heartbeat say so? Of several agents the votes of the others count as they had arrived by then, which nobody can
 * tell afterwards: one of them must have said it before.
 */
function isSaid(rows: readonly FoundRow[], { to, at }: FoundTransition, isShared: boolean): boolean {
  return rows.some(
    ({ timestamp, status }) => RECORD_STATUSES[status] === to && (isShared ? timestamp <= at : timestamp === at)
  )
}

function judgeState(monitor: FoundMonitor, rows: readonly FoundRow[], verdict: Verdict): void {
  const { monitorId, state, lastHeartbeatAt } = monitor
  const newest = rows.reduce<number | null>((latest, { timestamp }) => Math.max(latest ?? timestamp, timestamp), null)
  if (lastHeartbeatAt !== newest) verdict.states.push(`${monitorId}: newest ${newest}, noted ${lastHeartbeatAt}`)
  const expected = expectedState(rows)
  if (state !== expected) verdict.states.push(`${monitorId}: is ${state}, its newest says ${expected}`)
}

function judgeTransitions(
  monitor: FoundMonitor,
  rows: readonly FoundRow[],
  transitions: readonly FoundTransition[],
  verdict: Verdict
): void {
  let state = 'pending'
  let since = Number.NEGATIVE_INFINITY
  const isShared = newestRows(rows).length > 1
  for (const transition of transitions) {
    const { from, to, at } = transition
    const what = `${monitor.monitorId}: ${from} to ${to} at ${at}`
    if (from !== state || from === to) verdict.transitions.push(`${what}, after ${state}`)
    if (isShared ? at < since : at <= since) verdict.transitions.push(`${what}, not after ${since}`)
    if (!isSaid(rows, transition, isShared)) verdict.transitions.push(`${what}, where no heartbeat says so`)
    state = to
    since = at
  }
  if (state !== monitor.state) {
    verdict.transitions.push(`${monitor.monitorId}: they end at ${state}, it is ${monitor.state}`)
  }
}

function groupByMonitor<T extends { monitorId: string }>(things: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const thing of things) {
    const group = groups.get(thing.monitorId)
    if (group === undefined) groups.set(thing.monitorId, [thing])
    else group.push(thing)
  }
  return groups
}

/** Enough of each kind to find the cause; a printed diff of ten thousand helps nobody. */
function shorten(violations: readonly string[]): string[] {
  return violations.length <= 5 ? [...violations] : [...violations.slice(0, 5), `and ${violations.length - 5} more`]
}

/** Compares what was promised with what is there. */
export function judge(journal: Journal, { rows, monitors, transitions }: Evidence): Verdict {
  const verdict: Verdict = structuredClone(NO_VIOLATION)
  judgeRows(journal.sent, rows, verdict)
  const rowsOf = groupByMonitor(rows)
  const transitionsOf = groupByMonitor(transitions)
  for (const monitor of monitors) {
    const own = rowsOf.get(monitor.monitorId) ?? []
    judgeState(monitor, own, verdict)
    judgeTransitions(monitor, own, transitionsOf.get(monitor.monitorId) ?? [], verdict)
  }
  verdict.broken.push(...journal.broken)
  for (const kind of Object.keys(verdict) as Array<keyof Verdict>) verdict[kind] = shorten(verdict[kind])
  return verdict
}
