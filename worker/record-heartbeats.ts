import type { Database, Transaction } from '../shared/db.ts'
import { insertResumedAudit } from '../shared/store/audit.ts'
import { copyHeartbeats, mergeHeartbeats, RowEncoder, uuidBytes } from '../shared/store/heartbeat-rows.ts'
import { noteRuns } from '../shared/store/monitor-runs.ts'
import {
  insertTransitions,
  listExistingMonitors,
  type MonitorBeats,
  type MonitorStateRow,
  markRecords,
  type NewTransition,
  touchMonitorStates,
  updateMonitorStates
} from '../shared/store/monitor-states.ts'
import { listResumingOnPing } from '../shared/store/monitor-switches.ts'
import { recordAlerts } from '../shared/store/outbox.ts'
import { beatsOfMonitor, type Folded, foldMonitor } from './fold.ts'
import type { Group } from './group.ts'
import { noteLateHeartbeats } from './late-heartbeats.ts'
import { repaintBlanks } from './repaint.ts'

/** `copy`: every row is believed new. `merge`: some may be there already. */
export type WritePath = 'copy' | 'merge'

export interface Recorded {
  rows: number
  /** Rows of monitors that were deleted before their heartbeats were written. */
  skipped: number
  transitions: readonly NewTransition[]
}

/** Monitors whose organization is remembered; past it all are read anew. */
const MAX_REMEMBERED = 1_000_000

/** Writes groups, each in one transaction: rows, state, transitions. Writing one again changes nothing. */
export class Recorder {
  readonly #db: Database
  readonly #clock: () => number
  readonly #states: boolean
  /** The organization of each monitor, as 16 bytes. It never changes, and a key is never used again. */
  readonly #organizations = new Map<number, Buffer>()

  /** Without `states` a group of monitors that were all seen before is rows and no more. */
  constructor(db: Database, clock: () => number, states = true) {
    this.#db = db
    this.#clock = clock
    this.#states = states
  }

  /** Fails with 23505 when `copy` meets a row that is there already, with 23514 when a day has no partition. */
  record(group: Group, path: WritePath): Promise<Recorded> {
    const isNew = (monitorKey: number) => !this.#organizations.has(monitorKey)
    const folds = this.#states || [...group.rowsByMonitor.keys()].some(isNew)
    return this.#db.transaction((tx) => (folds ? this.#write(tx, group, path) : this.#writeRows(tx, group, path, null)))
  }

  async #write(tx: Transaction, group: Group, path: WritePath): Promise<Recorded> {
    const beats: MonitorBeats[] = []
    for (const [monitorKey, rows] of group.rowsByMonitor) {
      const found = beatsOfMonitor(group, monitorKey, rows)
      // Only the fold reads a monitor's organization, which its rows need.
      beats.push(this.#organizations.has(monitorKey) ? found : { ...found, sourceId: null })
    }
    const { count, unsettled } = await touchMonitorStates(tx, beats)
    const { transitions, past } = await this.#fold(tx, group, unsettled)
    const monitorKeys = [...group.rowsByMonitor.keys()]
    const existing = count === monitorKeys.length ? null : await listExistingMonitors(tx, monitorKeys)
    const written = await this.#writeRows(tx, group, path, existing)
    await repaintBlanks(tx, past)
    return { ...written, transitions }
  }

  async #writeRows(
    tx: Transaction,
    group: Group,
    path: WritePath,
    existing: ReadonlySet<number> | null
  ): Promise<Recorded> {
    const { rows, bytes } = this.#encode(group, existing)
    if (rows > 0) {
      await noteLateHeartbeats(tx, group)
      await (path === 'copy' ? copyHeartbeats(tx, bytes) : mergeHeartbeats(tx, bytes))
    }
    return { rows, skipped: group.size - rows, transitions: [] }
  }

  /** The whole way for monitors, whose rows are locked. */
  async #fold(tx: Transaction, group: Group, states: readonly MonitorStateRow[]): Promise<Folded> {
    const folded: Folded = { changes: [], transitions: [], runs: [], records: [], past: [], resumed: [] }
    const paused = states.filter(({ state }) => state === 'paused').map(({ monitor_key }) => monitor_key)
    const resuming = paused.length === 0 ? new Set() : await listResumingOnPing(tx, paused)
    for (const state of states) {
      const { monitor_key: key } = state
      this.#remember(key, state.organization_id)
      foldMonitor(group, state, group.rowsByMonitor.get(key) ?? [], resuming.has(key), folded)
    }
    if (folded.changes.length > 0) await updateMonitorStates(tx, folded.changes)
    if (folded.transitions.length > 0) {
      await insertTransitions(tx, folded.transitions)
      await recordAlerts(tx, folded.transitions, new Date(this.#clock()))
    }
    if (folded.resumed.length > 0) await insertResumedAudit(tx, folded.resumed)
    if (folded.records.length > 0) await markRecords(tx, folded.records)
    if (folded.runs.length > 0) await noteRuns(tx, folded.runs)
    return folded
  }

  #remember(monitorKey: number, organizationId: string): void {
    if (this.#organizations.size >= MAX_REMEMBERED) this.#organizations.clear()
    if (!this.#organizations.has(monitorKey)) this.#organizations.set(monitorKey, uuidBytes(organizationId))
  }

  /**
   * Encodes the rows monitor by monitor, which keeps the index writes together. `existing`: the monitors that are left, or
   * null for all.
   */
  #encode(group: Group, existing: ReadonlySet<number> | null): { rows: number; bytes: Buffer } {
    let messageBytes = 0
    for (const text of group.messages.values()) messageBytes += text.length * 3
    const encoder = new RowEncoder(group.size, messageBytes)
    const sourceIds = group.sourceIds.map(uuidBytes)
    let count = 0
    for (const [monitorKey, rows] of group.rowsByMonitor) {
      const organizationId = this.#organizations.get(monitorKey)
      if (organizationId === undefined || existing?.has(monitorKey) === false) continue
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
