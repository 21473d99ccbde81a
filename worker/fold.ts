import { HEARTBEAT_STATUSES, RECORD_STATUSES } from '../shared/protocol/heartbeat.ts'
import type { MonitorStateChange, MonitorStateRow, NewTransition, SteadyBeats } from '../shared/store/monitor-states.ts'
import type { Group } from './group.ts'
import { advance, type Beat, LIVE_MS, liveWindow, type MonitorStatus } from './monitor-state.ts'

/** What the heartbeats of a group change. */
export interface Folded {
  changes: MonitorStateChange[]
  transitions: NewTransition[]
}

/**
 * The rows of one monitor when they can only go on saying what was said: one source, one status, each newer than the one
 * before, and young enough to be live whatever the monitor's interval. Else null.
 */
export function steadyBeats(group: Group, monitorKey: number, rows: readonly number[]): SteadyBeats | null {
  const first = rows[0] as number
  const status = group.statuses[first] as number
  const source = group.sources[first] as number
  const sourceId = group.sourceIds[source] as string
  if (status >= HEARTBEAT_STATUSES.length) return null
  let last = Number.NEGATIVE_INFINITY
  for (const row of rows) {
    const timestamp = group.timestamps[row] as number
    if (timestamp <= last || group.statuses[row] !== status) return null
    if ((group.receivedAt[row] as number) - timestamp > LIVE_MS) return null
    if (group.sources[row] !== source && group.sourceIds[group.sources[row] as number] !== sourceId) return null
    last = timestamp
  }
  return { monitorKey, sourceId, status, first: group.timestamps[first] as number, last }
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
