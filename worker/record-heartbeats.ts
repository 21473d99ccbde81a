import type { Database, Transaction } from '../shared/db.ts'
import { copyHeartbeats, mergeHeartbeats, RowEncoder, uuidBytes } from '../shared/store/heartbeat-rows.ts'
import {
  insertTransitions,
  lockMonitorStates,
  moveSteadyMonitors,
  type SteadyBeats,
  updateMonitorStates
} from '../shared/store/monitor-states.ts'
import { type Folded, foldMonitor, steadyBeats } from './fold.ts'
import type { Group } from './group.ts'

/** `copy`: every row is believed new. `merge`: some may be there already. */
export type WritePath = 'copy' | 'merge'

export interface Recorded {
  rows: number
  /** Rows of monitors that were deleted before their heartbeats were written. */
  skipped: number
  transitions: number
}

/** Monitors whose organization is remembered; past it all are read anew. */
const MAX_REMEMBERED = 1_000_000

/** Writes groups, each in one transaction: rows, state, transitions. Writing one again changes nothing. */
export class Recorder {
  readonly #db: Database
  /** The organization of each monitor, as 16 bytes. It never changes, and a key is never used again. */
  readonly #organizations = new Map<number, Buffer>()

  constructor(db: Database) {
    this.#db = db
  }

  /** Fails with 23505 when `copy` meets a row that is there already, with 23514 when a day has no partition. */
  record(group: Group, path: WritePath): Promise<Recorded> {
    return this.#db.transaction((tx) => this.#write(tx, group, path))
  }

  async #write(tx: Transaction, group: Group, path: WritePath): Promise<Recorded> {
    const steady: SteadyBeats[] = []
    const others: number[] = []
    for (const [monitorKey, rows] of group.rowsByMonitor) {
      const beats = this.#organizations.has(monitorKey) ? steadyBeats(group, monitorKey, rows) : null
      if (beats === null) others.push(monitorKey)
      else steady.push(beats)
    }
    const unmoved = steady.length > 0 ? await moveSteadyMonitors(tx, steady) : new Set<number>()
    const deleted = new Set([...others, ...unmoved])
    const transitions = deleted.size > 0 ? await this.#fold(tx, group, deleted) : 0
    const { rows, bytes } = this.#encode(group, deleted)
    if (rows > 0) await (path === 'copy' ? copyHeartbeats(tx, bytes) : mergeHeartbeats(tx, bytes))
    return { rows, skipped: group.size - rows, transitions }
  }

  /** The whole way for these monitors: lock, fold, write. What remains in `monitorKeys` exists no more. */
  async #fold(tx: Transaction, group: Group, monitorKeys: Set<number>): Promise<number> {
    const folded: Folded = { changes: [], transitions: [] }
    const states = await lockMonitorStates(
      tx,
      [...monitorKeys].sort((a, b) => a - b)
    )
    for (const state of states) {
      monitorKeys.delete(state.monitor_key)
      this.#remember(state.monitor_key, state.organization_id)
      foldMonitor(group, state, group.rowsByMonitor.get(state.monitor_key) ?? [], folded)
    }
    if (folded.changes.length > 0) await updateMonitorStates(tx, folded.changes)
    if (folded.transitions.length > 0) await insertTransitions(tx, folded.transitions)
    return folded.transitions.length
  }

  #remember(monitorKey: number, organizationId: string): void {
    if (this.#organizations.size >= MAX_REMEMBERED) this.#organizations.clear()
    if (!this.#organizations.has(monitorKey)) this.#organizations.set(monitorKey, uuidBytes(organizationId))
  }

  /** Encodes the rows monitor by monitor, which keeps the index writes together; those of deleted monitors are left out. */
  #encode(group: Group, deleted: ReadonlySet<number>): { rows: number; bytes: Buffer } {
    let messageBytes = 0
    for (const text of group.messages.values()) messageBytes += text.length * 3
    const encoder = new RowEncoder(group.size, messageBytes)
    const sourceIds = group.sourceIds.map(uuidBytes)
    let count = 0
    for (const [monitorKey, rows] of group.rowsByMonitor) {
      const organizationId = this.#organizations.get(monitorKey)
      if (organizationId === undefined || deleted.has(monitorKey)) continue
      count += rows.length
      for (const row of rows) {
        encoder.add(
          monitorKey,
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
}
