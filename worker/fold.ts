import { LIVE_MS, liveWindow } from '../shared/live-window.ts'
import { HEARTBEAT_STATUSES, RECORD_STATUSES } from '../shared/protocol/heartbeat.ts'
import type { ResumedByHeartbeat } from '../shared/store/audit.ts'
import type { PastSpan } from '../shared/store/blanks.ts'
import type { RunMark } from '../shared/store/monitor-runs.ts'
import {
  type MonitorBeats,
  type MonitorStateChange,
  type MonitorStateRow,
  type NewTransition,
  type RecordMark,
  steadyCode
} from '../shared/store/monitor-states.ts'
import { ballotOf, isSplit } from '../shared/vote.ts'
import type { Group } from './group.ts'
import { advance, type Beat, isLive, type MonitorStatus, type Rules } from './monitor-state.ts'

/** What the heartbeats of a group change. */
export interface Folded {
  changes: MonitorStateChange[]
  transitions: NewTransition[]
  runs: RunMark[]
  /** Records that no heartbeat is as new as: by them or by its last heartbeat a monitor is known to have rows. */
  records: RecordMark[]
  /** What came late, and what was unknown until now. */
  past: PastSpan[]
  /** Pauses that heartbeats ended. */
  resumed: ResumedByHeartbeat[]
}

/** Did one source tell all these rows, so that they may be settled without the fold? */
function tellTheSame(group: Group, from: number, to: number): boolean {
  const { statuses, sources, sourceIds, bySocket, timestamps, receivedAt, rids } = group
  const source = sources[from] as number
  if ((statuses[from] as number) >= HEARTBEAT_STATUSES.length) return false
  let last = Number.NEGATIVE_INFINITY
  for (let row = from; row < to; row++) {
    const timestamp = timestamps[row] as number
    const other = sources[row] as number
    if (timestamp <= last || statuses[row] !== statuses[from] || (rids.size > 0 && rids.has(row))) return false
    // Young enough to be live whatever the monitor's interval.
    if ((receivedAt[row] as number) - timestamp > LIVE_MS) return false
    // Each job names its sources anew.
    if (other !== source && (sourceIds[other] !== sourceIds[source] || bySocket[other] !== bySocket[source]))
      return false
    last = timestamp
  }
  return true
}

/**
 * What the database is asked about the rows of each monitor. They name their source when they have only one, one status,
 * each newer than the one before, and all are young: then they may only go on saying what was said. Only the fold reads a
 * monitor's organization, so none is named where that is not known (`isKnown`) either.
 */
export function beatsOf(group: Group, sourceIds: Uint8Array, isKnown: (monitorKey: number) => boolean): MonitorBeats {
  const count = group.monitorKeys.length
  const beats: MonitorBeats = {
    monitorKeys: group.monitorKeys,
    sourceIds: new Uint8Array(16 * count),
    steady: new Uint8Array(count),
    first: new Float64Array(count),
    last: new Float64Array(count),
    received: new Float64Array(count)
  }
  for (let place = 0; place < count; place++) {
    const from = group.starts[place] as number
    const to = group.starts[place + 1] as number
    const source = group.sources[from] as number
    if (isKnown(group.monitorKeys[place] as number) && tellTheSame(group, from, to)) {
      beats.sourceIds.set(sourceIds.subarray(16 * source, 16 * source + 16), 16 * place)
    }
    beats.steady[place] = steadyCode(group.statuses[from] as number, group.bySocket[source] as boolean)
    beats.first[place] = group.timestamps[from] as number
    beats.last[place] = group.timestamps[to - 1] as number
    let received = 0
    for (let row = from; row < to; row++) received = Math.max(received, group.receivedAt[row] as number)
    beats.received[place] = received
  }
  return beats
}

/** The rows of one monitor as beats, oldest first; marks that never change a state (start, log) are left out. */
function toBeats(group: Group, from: number, to: number): Beat[] {
  const beats: Beat[] = []
  for (let row = from; row < to; row++) {
    const status = RECORD_STATUSES[group.statuses[row] as number]
    if (status !== 'up' && status !== 'down' && status !== 'degraded') continue
    const source = group.sources[row] as number
    beats.push({
      sourceId: group.sourceIds[source] as string,
      status,
      timestamp: group.timestamps[row] as number,
      receivedAt: group.receivedAt[row] as number,
      bySocket: group.bySocket[source] as boolean
    })
  }
  // The sort is stable: of two with one identity the first to arrive stays first, and the other is not newer.
  return beats.sort((a, b) => a.timestamp - b.timestamp)
}

export function rulesOf(row: MonitorStateRow): Rules {
  const { confirmations, recoveries, quorum } = row
  return { windowMs: liveWindow(row.interval_seconds, row.grace_seconds), confirmations, recoveries, quorum }
}

export function toStatus(row: MonitorStateRow): MonitorStatus {
  return {
    ...ballotOf(row),
    state: row.state,
    stateReason: row.state_reason,
    stateSince: row.state_since.getTime(),
    observed: row.observed,
    streak: row.streak,
    streakSince: row.streak_since?.getTime() ?? null,
    lastReceivedAt: row.last_received_at?.getTime() ?? null,
    bySocket: row.by_socket
  }
}

function dateOf(time: number | null): Date | null {
  return time === null ? null : new Date(time)
}

/**
 * When the sweep shall look at it: when it does already, or else from the grace on, which is never after the deadline. At
 * once while its agents disagree: one of them may be gone.
 */
function checkOf(row: MonitorStateRow, status: MonitorStatus): Date | null {
  const known = row.check_at?.getTime() ?? null
  if (status.lastReceivedAt === null || status.state === 'paused') return row.check_at
  if (isSplit(status)) return new Date(Math.min(known ?? status.lastReceivedAt, status.lastReceivedAt))
  return new Date(known ?? status.lastReceivedAt + row.grace_seconds * 1000)
}

function toChange(row: MonitorStateRow, status: MonitorStatus): MonitorStateChange {
  const sources = Object.entries(status.liveSources)
  // Its vote is what was observed last. Who left the vote has to be folded when it comes back, so it is none.
  const isLast = ([sourceId, timestamp]: [string, number]) =>
    timestamp === status.lastHeartbeatAt && status.votes[sourceId] === (status.bySocket ? status.observed : undefined)
  const lastSourceId = sources.find(isLast)?.[0] ?? null
  const votes = Object.entries(status.votes)
  return {
    monitorKey: row.monitor_key,
    state: status.state,
    stateReason: status.stateReason,
    stateSince: new Date(status.stateSince),
    observed: status.observed,
    streak: status.streak,
    streakSince: dateOf(status.streakSince),
    lastHeartbeatAt: dateOf(status.lastHeartbeatAt),
    lastReceivedAt: dateOf(status.lastReceivedAt),
    bySocket: status.bySocket,
    lastSourceId,
    otherSources: JSON.stringify(Object.fromEntries(sources.filter(([sourceId]) => sourceId !== lastSourceId))),
    otherVotes: JSON.stringify(Object.fromEntries(votes.filter(([sourceId]) => sourceId !== lastSourceId))),
    checkAt: checkOf(row, status)
  }
}

/**
 * Begins and ends of runs. An end without an id is told only while a run is open: nearly every heartbeat would be one. So a
 * beginning that comes after its end is known by the newest heartbeat.
 */
function foldRuns(group: Group, row: MonitorStateRow, place: number, into: Folded): void {
  let running = row.running
  for (let index = group.starts[place] as number; index < (group.starts[place + 1] as number); index++) {
    const status = RECORD_STATUSES[group.statuses[index] as number]
    const rid = group.rids.get(index) ?? ''
    const at = group.timestamps[index] as number
    const mark = { monitorKey: row.monitor_key, organizationId: row.organization_id, rid }
    if (status === 'start') {
      if (rid === '' && at < (row.last_heartbeat_at?.getTime() ?? 0)) continue
      into.runs.push({ ...mark, startedAt: at, endedAt: null })
      running = true
    } else if (status !== 'log' && (running || rid !== '')) into.runs.push({ ...mark, startedAt: null, endedAt: at })
  }
}

/** The moments that come late, or end what was unknown, as one span. */
class Past {
  #first = Number.POSITIVE_INFINITY
  #last = Number.NEGATIVE_INFINITY

  note(at: number): void {
    this.#first = Math.min(this.#first, at)
    this.#last = Math.max(this.#last, at)
  }

  spans(monitorKey: number): PastSpan[] {
    return this.#last < this.#first ? [] : [{ monitorKey, first: this.#first, last: this.#last }]
  }
}

/** Folds the rows of one monitor, of the group's `place`, into its locked state. */
export function foldMonitor(
  group: Group,
  row: MonitorStateRow,
  place: number,
  resumeOnPing: boolean,
  into: Folded
): void {
  const from = group.starts[place] as number
  const to = group.starts[place + 1] as number
  const status = toStatus(row)
  const rules = { ...rulesOf(row), resumeOnPing }
  const before = JSON.stringify(status.liveSources)
  const past = new Past()
  for (const beat of toBeats(group, from, to)) {
    // One of several sources may come late and be live still.
    if (!isLive(status, beat, rules.windowMs) || beat.timestamp < status.stateSince) past.note(beat.timestamp)
    const transition = advance(status, beat, rules)
    if (transition === null) continue
    // The last moment of it.
    if (transition.from === 'unknown') past.note(transition.at - 1)
    if (transition.from === 'paused') into.resumed.push({ monitorKey: row.monitor_key, sourceId: beat.sourceId })
    into.transitions.push({
      monitorKey: row.monitor_key,
      organizationId: row.organization_id,
      from: transition.from,
      to: transition.to,
      at: new Date(transition.at),
      reason: transition.reason
    })
  }
  into.past.push(...past.spans(row.monitor_key))
  if (row.max_runtime_seconds !== null) foldRuns(group, row, place, into)
  const newest = group.timestamps.subarray(from, to).reduce((most, at) => Math.max(most, at), 0)
  if (newest > (status.lastHeartbeatAt ?? 0)) into.records.push({ monitorKey: row.monitor_key, at: newest })
  // Every live heartbeat leaves its mark there; without one nothing else can have changed.
  if (JSON.stringify(status.liveSources) !== before) into.changes.push(toChange(row, status))
}
