import type { Transaction } from '../shared/db.ts'
import type { HeartbeatStatus } from '../shared/protocol/heartbeat.ts'
import {
  type BlankRow,
  deleteTransitions,
  listBlanks,
  listRuns,
  type PastSpan,
  type RunRow
} from '../shared/store/blanks.ts'
import { insertTransitions } from '../shared/store/monitor-states.ts'
import type { MonitorState, Transition } from './monitor-state.ts'

/** Blanks whose heartbeats are read in one statement: each may hold those of days, and no statement may take too long. */
const BLANKS = 100

/** A span of the past of which nothing was known. Times are epoch ms. */
export interface Blank {
  from: number
  to: number
  before: MonitorState
  after: MonitorState
  reason: string
  reasonAfter: string
  /** So long after a heartbeat it is still known how the monitor is. */
  patienceMs: number
  /** When nothing could get in: what came before this proves nothing. */
  blindSince: number | null
  confirmations: number
}

/** Heartbeats in a row that say the same. */
export interface Run {
  status: HeartbeatStatus
  first: number
  last: number
  count: number
  /** When so many of them were there as end an outage, or null. */
  recovered: number | null
  sources: readonly string[]
}

/** When a run makes the monitor what it says, or null when it takes more of them. */
function turnOf(state: MonitorState, run: Run, confirmations: number): number | null {
  if (state === 'down' && run.status !== 'down') return run.recovered
  const toBeConfirmed = (state === 'up' || state === 'degraded') && run.status === 'down'
  return toBeConfirmed && run.count < confirmations ? null : run.first
}

/** About the past there is no vote: agents that contradict each other leave it unknown. */
function contradict(runs: readonly Run[]): boolean {
  return new Set(runs.map(({ status }) => status)).size > 1 && new Set(runs.flatMap(({ sources }) => sources)).size > 1
}

/**
 * The changes of state that take the place of the two that begin and end a blank, by the heartbeats that tell of it, in
 * order; null when those say nothing new. Pure.
 */
export function repaint(blank: Blank, runs: readonly Run[]): Transition[] | null {
  const { blindSince } = blank
  if (contradict(runs) || (blindSince !== null && runs.every(({ last }) => last < blindSince))) return null
  const changes: Transition[] = []
  let state = blank.before
  let knownUntil = blank.from
  const move = (to: MonitorState, at: number, reason: string) => {
    if (to !== state) changes.push({ from: state, to, at: Math.max(at, blank.from), reason })
    state = to
  }
  for (const run of runs) {
    if (run.last >= blank.from) {
      if (run.first > knownUntil) move('unknown', knownUntil, blank.reason)
      const at = turnOf(state, run, blank.confirmations)
      if (at !== null) move(run.status, at, 'reported')
    }
    knownUntil = Math.max(knownUntil, run.last + blank.patienceMs)
  }
  if (knownUntil < blank.to) move('unknown', knownUntil, blank.reason)
  move(blank.after, blank.to, blank.reasonAfter)
  const [first, second] = changes
  const isSame = first?.to === 'unknown' && first.at === blank.from && second?.at === blank.to
  return isSame ? null : changes
}

function toBlank(row: BlankRow): Blank {
  return {
    from: row.began_at.getTime(),
    to: row.ended_at.getTime(),
    before: row.state_before,
    after: row.state_after,
    reason: row.reason,
    reasonAfter: row.reason_after,
    patienceMs: row.patience_seconds * 1000,
    blindSince: row.blind_since?.getTime() ?? null,
    confirmations: row.confirmations
  }
}

function toRun({ status, first, last, count, recovered, sources }: RunRow): Run {
  const recoveredAt = recovered?.getTime() ?? null
  return { status, first: first.getTime(), last: last.getTime(), count, recovered: recoveredAt, sources }
}

/**
 * Paints what was unknown anew, where heartbeats that came late tell how it was. The present state and alerts are not
 * touched. To be called when the heartbeats are written and the monitors' states are locked.
 */
export async function repaintBlanks(tx: Transaction, spans: readonly PastSpan[]): Promise<void> {
  if (spans.length === 0) return
  const blanks = await listBlanks(tx, spans)
  if (blanks.length === 0) return
  const runsOf: Run[][] = blanks.map(() => [])
  for (let start = 0; start < blanks.length; start += BLANKS) {
    for (const run of await listRuns(tx, blanks.slice(start, start + BLANKS))) {
      runsOf[start + run.place]?.push(toRun(run))
    }
  }
  const painted = blanks.flatMap((row, place) => {
    const changes = repaint(toBlank(row), runsOf[place] ?? [])
    return changes === null ? [] : [{ row, changes }]
  })
  if (painted.length === 0) return
  await deleteTransitions(
    tx,
    painted.flatMap(({ row }) => [row.began_by, row.ended_by])
  )
  await insertTransitions(
    tx,
    painted.flatMap(({ row, changes }) =>
      changes.map((one) => ({
        ...one,
        monitorKey: row.monitor_key,
        organizationId: row.organization_id,
        at: new Date(one.at)
      }))
    )
  )
}
