import type { Database, Transaction } from '../shared/db.ts'
import { RECORD_STATUSES } from '../shared/protocol/heartbeat.ts'
import { copyHeartbeats, mergeHeartbeats, RowEncoder, uuidBytes } from '../shared/store/heartbeat-rows.ts'
import {
  insertTransitions,
  lockMonitorStates,
  type MonitorStateChange,
  type MonitorStateRow,
  type NewTransition,
  updateMonitorStates
} from '../shared/store/monitor-states.ts'
import type { Group } from './group.ts'
import { advance, type Beat, liveWindow, type MonitorStatus } from './monitor-state.ts'

/** `copy`: every row is believed new. `merge`: some may be there already. */
export type WritePath = 'copy' | 'merge'

export interface Recorded {
  rows: number
  /** Rows of monitors that were deleted before their heartbeats were written. */
  skipped: number
  transitions: number
}

interface Folded {
  changes: MonitorStateChange[]
  transitions: NewTransition[]
}

function toStatus(row: MonitorStateRow): MonitorStatus {
  return {
    state: row.state,
    stateReason: row.state_reason,
    stateSince: row.state_since.getTime(),
    lastHeartbeatAt: row.last_heartbeat_at?.getTime() ?? null,
    liveSources: row.live_sources
  }
}

/** The rows of one monitor as beats, oldest first; marks that never change a state (start, log) are left out. */
function beatsOf(group: Group, rows: readonly number[]): Beat[] {
  const beats: Beat[] = []
  let ordered = true
  for (const row of rows) {
    const status = RECORD_STATUSES[group.statuses[row] as number]
    if (status !== 'up' && status !== 'down' && status !== 'degraded') continue
    const timestamp = group.timestamps[row] as number
    ordered &&= beats.length === 0 || timestamp >= (beats[beats.length - 1] as Beat).timestamp
    beats.push({
      sourceId: group.sourceIds[group.sources[row] as number] as string,
      status,
      timestamp,
      receivedAt: group.receivedAt[row] as number
    })
  }
  // The sort is stable: of two with one identity the first to arrive stays first, and the other is not newer.
  return ordered ? beats : beats.sort((a, b) => a.timestamp - b.timestamp)
}

function foldMonitor(group: Group, row: MonitorStateRow, rows: readonly number[], into: Folded): void {
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
  const liveSources = JSON.stringify(status.liveSources)
  // Every live heartbeat leaves its mark there; without one nothing else can have changed.
  if (liveSources === before) return
  into.changes.push({
    monitorKey: row.monitor_key,
    state: status.state,
    stateReason: status.stateReason,
    stateSince: new Date(status.stateSince),
    lastHeartbeatAt: status.lastHeartbeatAt === null ? null : new Date(status.lastHeartbeatAt),
    liveSources
  })
}

/** Encodes the rows of the monitors that still exist, monitor by monitor, which keeps the index writes together. */
function encode(group: Group, states: readonly MonitorStateRow[]): { rows: number; bytes: Buffer } {
  let messageBytes = 0
  for (const text of group.messages.values()) messageBytes += text.length * 3
  const encoder = new RowEncoder(group.size, messageBytes)
  const sourceIds = group.sourceIds.map(uuidBytes)
  let count = 0
  for (const state of states) {
    const organizationId = uuidBytes(state.organization_id)
    const rows = group.rowsByMonitor.get(state.monitor_key) ?? []
    count += rows.length
    for (const row of rows) {
      encoder.add(
        state.monitor_key,
        group.timestamps[row] as number,
        group.latencies[row] as number,
        group.receivedAt[row] as number,
        sourceIds[group.sources[row] as number] as Buffer,
        organizationId,
        group.statuses[row] as number,
        group.messages.get(row)
      )
    }
  }
  return { rows: count, bytes: encoder.finish() }
}

async function write(tx: Transaction, group: Group, path: WritePath): Promise<Recorded> {
  const states = await lockMonitorStates(tx, [...group.rowsByMonitor.keys()])
  const { rows, bytes } = encode(group, states)
  if (rows > 0) await (path === 'copy' ? copyHeartbeats(tx, bytes) : mergeHeartbeats(tx, bytes))
  const folded: Folded = { changes: [], transitions: [] }
  for (const state of states) foldMonitor(group, state, group.rowsByMonitor.get(state.monitor_key) ?? [], folded)
  if (folded.changes.length > 0) await updateMonitorStates(tx, folded.changes)
  if (folded.transitions.length > 0) await insertTransitions(tx, folded.transitions)
  return { rows, skipped: group.size - rows, transitions: folded.transitions.length }
}

/**
 * Writes a group in one transaction: rows, state, transitions. Doing it again changes nothing.
 * Fails with 23505 when `copy` meets a row that is there already, with 23514 when a day has no partition.
 */
export function recordHeartbeats(db: Database, group: Group, path: WritePath): Promise<Recorded> {
  return db.transaction((tx) => write(tx, group, path))
}
