import type { Database, Transaction } from '../shared/db.ts'
import { insertResumedAudit } from '../shared/store/audit.ts'
import { uuidBytes } from '../shared/store/binary-format.ts'
import { copyHeartbeats, mergeHeartbeats, RowEncoder } from '../shared/store/heartbeat-rows.ts'
import { noteRuns } from '../shared/store/monitor-runs.ts'
import {
  insertTransitions,
  listExistingMonitors,
  listMonitorStates,
  markRecords,
  type NewTransition,
  touchMonitorStates,
  updateMonitorStates
} from '../shared/store/monitor-states.ts'
import { listResumingOnPing } from '../shared/store/monitor-switches.ts'
import { recordAlerts } from '../shared/store/outbox.ts'
import { beatsOf, type Folded, foldMonitor } from './fold.ts'
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

/** Rows as COPY takes them. */
interface Encoded {
  rows: number
  bytes: Buffer
}

/** Monitors whose organization is remembered; past it all are read anew. */
const MAX_REMEMBERED = 1_000_000

/** Writes groups, each in one transaction: rows, state, transitions. Writing one again changes nothing. */
export class Recorder {
  readonly #db: Database
  readonly #clock: () => number
  readonly #states: boolean
  /** The organization of each monitor, as 16 bytes. It never changes, and a key is never used again. */
  readonly #organizations = new Map<number, Uint8Array>()

  /** Without `states` a group of monitors that were all seen before is rows and no more. */
  constructor(db: Database, clock: () => number, states = true) {
    this.#db = db
    this.#clock = clock
    this.#states = states
  }

  /** Fails with 23505 when `copy` meets a row that is there already, with 23514 when a day has no partition. */
  record(group: Group, path: WritePath): Promise<Recorded> {
    // Between groups: the rows of one need all that was known when it began.
    if (this.#organizations.size >= MAX_REMEMBERED) this.#organizations.clear()
    const sourceIds = uuidBytes(group.sourceIds)
    const folds = this.#states || !group.monitorKeys.every((key) => this.#organizations.has(key))
    return this.#db.transaction(async (tx) => {
      if (!folds) return this.#writeRows(tx, group, path, this.#encode(group, sourceIds))
      return this.#write(tx, group, path, sourceIds)
    })
  }

  async #write(tx: Transaction, group: Group, path: WritePath, sourceIds: Uint8Array): Promise<Recorded> {
    const { monitorKeys } = group
    const beats = beatsOf(group, sourceIds, (monitorKey) => this.#organizations.has(monitorKey))
    // Encoded while the database works.
    const [{ count, unsettled }, ahead] = await Promise.all([
      touchMonitorStates(tx, beats),
      this.#encode(group, sourceIds)
    ])
    const { transitions, past } = await this.#fold(tx, group, unsettled)
    const existing = count === monitorKeys.length ? null : await listExistingMonitors(tx, monitorKeys)
    const isWhole = existing === null && ahead.rows === group.size
    const written = await this.#writeRows(tx, group, path, isWhole ? ahead : this.#encode(group, sourceIds, existing))
    await repaintBlanks(tx, past)
    return { ...written, transitions }
  }

  async #writeRows(tx: Transaction, group: Group, path: WritePath, { rows, bytes }: Encoded): Promise<Recorded> {
    if (rows > 0) {
      await noteLateHeartbeats(tx, group)
      await (path === 'copy' ? copyHeartbeats(tx, bytes) : mergeHeartbeats(tx, bytes))
    }
    return { rows, skipped: group.size - rows, transitions: [] }
  }

  /** The whole way for monitors whose rows are locked. */
  async #fold(tx: Transaction, group: Group, monitorKeys: readonly number[]): Promise<Folded> {
    const folded: Folded = { changes: [], transitions: [], runs: [], records: [], past: [], resumed: [] }
    if (monitorKeys.length === 0) return folded
    const states = await listMonitorStates(tx, monitorKeys)
    const paused = states.filter(({ state }) => state === 'paused').map(({ monitor_key }) => monitor_key)
    const resuming = paused.length === 0 ? new Set() : await listResumingOnPing(tx, paused)
    const places = new Map(Array.from(group.monitorKeys, (key, place) => [key, place]))
    for (const state of states) {
      const { monitor_key: key } = state
      this.#remember(key, state.organization_id)
      foldMonitor(group, state, places.get(key) as number, resuming.has(key), folded)
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
    if (!this.#organizations.has(monitorKey)) this.#organizations.set(monitorKey, uuidBytes([organizationId]))
  }

  /**
   * The rows monitor by monitor, which keeps the index writes together. Left out are those of monitors whose organization is
   * not known, and that are not among `existing` where that is told.
   */
  #encode(group: Group, sourceIds: Uint8Array, existing: ReadonlySet<number> | null = null): Encoded {
    let messageBytes = 0
    for (const text of group.messages.values()) messageBytes += text.length * 3
    const encoder = new RowEncoder(group.size, messageBytes)
    let rows = 0
    group.monitorKeys.forEach((monitorKey, place) => {
      const organizationId = this.#organizations.get(monitorKey)
      if (organizationId === undefined || existing?.has(monitorKey) === false) return
      const from = group.starts[place] as number
      const to = group.starts[place + 1] as number
      rows += to - from
      for (let row = from; row < to; row++) {
        encoder.add(
          monitorKey,
          group.timestamps[row] as number,
          group.latencies[row] as number,
          group.receivedAt[row] as number,
          sourceIds,
          group.sources[row] as number,
          organizationId,
          group.statuses[row] as number,
          group.messages.get(row)
        )
      }
    })
    return { rows, bytes: encoder.finish() }
  }
}
