import { HEARTBEAT_STATUSES, RECORD_STATUSES } from '../shared/protocol/heartbeat.ts'
import type {
  MonitorBeats,
  MonitorStateChange,
  MonitorStateRow,
  NewTransition
} from '../shared/store/monitor-states.ts'
import type { Group } from './group.ts'
import { advance, type Beat, LIVE_MS, liveWindow, type MonitorStatus } from './monitor-state.ts'

/** What the heartbeats of a group change. */
export interface Folded {
  changes: MonitorStateChange[]
  transitions: NewTransition[]
}

/** The source that told all these rows, when they may be settled without the fold, else null. */
function soleSource(group: Group, rows: readonly number[]): string | null {
  const first = rows[0] as number
  const status = group.statuses[first] as number
  const sourceId = group.sourceIds[group.sources[first] as number] as string
  if (status >= HEARTBEAT_STATUSES.length) return null
  let last = Number.NEGATIVE_INFINITY
  for (const row of rows) {
    const timestamp = group.timestamps[row] as number
    if (timestamp <= last || group.statuses[row] !== status) return null
    // Young enough to be live whatever the monitor's interval.
    if ((group.receivedAt[row] as number) - timestamp > LIVE_MS) return null
    if (group.sourceIds[group.sources[row] as number] !== sourceId) return null
    last = timestamp
  }
  return sourceId
}

/**
 * What the database is asked about the rows of one monitor. They name their source when they have only one, one status,
 * each newer than the one before, and all are young: then they may only go on saying what was said.
 */
export function beatsOfMonitor(group: Group, monitorKey: number, rows: readonly number[]): MonitorBeats {
  const first = rows[0] as number
  const last = rows[rows.length - 1] as number
  return {
    monitorKey,
    sourceId: soleSource(group, rows),
    status: group.statuses[first] as number,
    first: group.timestamps[first] as number,
    last: group.timestamps[last] as number
  }
}

/** The rows of one monitor as beats, oldest first; marks that never change a state (start, log) are left out. */
function beatsOf(group: Group, rows: readonly number[]): Beat[] {
  const beats: Beat[] = []
  for (const row of rows) {
    const status = RECORD_STATUSES[group.statuses[row] as number]
    if (status !== 'up' && status !== 'down' && status !== 'degraded') continue
    beats.push({
      sourceId: group.sourceIds[group.sources[row] as number] as string,
      status,
      timestamp: group.timestamps[row] as number,
      receivedAt: group.receivedAt[row] as number
    })
  }
  // The sort is stable: of two with one identity the first to arrive stays first, and the other is not newer.
  return beats.sort((a, b) => a.timestamp - b.timestamp)
}

function toStatus(row: MonitorStateRow): MonitorStatus {
  const lastHeartbeatAt = row.last_heartbeat_at?.getTime() ?? null
  const liveSources = { ...row.other_sources }
  if (row.last_source_id !== null && lastHeartbeatAt !== null) liveSources[row.last_source_id] = lastHeartbeatAt
  return {
    state: row.state,
    stateReason: row.state_reason,
    stateSince: row.state_since.getTime(),
    lastHeartbeatAt,
    liveSources
  }
}

function toChange(monitorKey: number, status: MonitorStatus): MonitorStateChange {
  const sources = Object.entries(status.liveSources)
  const lastSourceId = sources.find(([, timestamp]) => timestamp === status.lastHeartbeatAt)?.[0] ?? null
  return {
    monitorKey,
    state: status.state,
    stateReason: status.stateReason,
    stateSince: new Date(status.stateSince),
    lastHeartbeatAt: status.lastHeartbeatAt === null ? null : new Date(status.lastHeartbeatAt),
    lastSourceId,
    otherSources: JSON.stringify(Object.fromEntries(sources.filter(([sourceId]) => sourceId !== lastSourceId)))
  }
}

/** Folds the rows of one monitor into its locked state. */
export function foldMonitor(group: Group, row: MonitorStateRow, rows: readonly number[], into: Folded): void {
  const status = toStatus(row)
  const windowMs = liveWindow(row.interval_seconds, row.grace_seconds)
  const before = JSON.stringify(status.liveSources)
  for (const beat of beatsOf(group, rows)) {
    const transition = advance(status, beat, windowMs)
    if (transition === null) continue
    into.transitions.push({
      monitorKey: row.monitor_key,
      organizationId: row.organization_id,
      from: transition.from,
      to: transition.to,
      at: new Date(transition.at),
      reason: transition.reason
    })
  }
  // Every live heartbeat leaves its mark there; without one nothing else can have changed.
  if (JSON.stringify(status.liveSources) !== before) into.changes.push(toChange(row.monitor_key, status))
}
