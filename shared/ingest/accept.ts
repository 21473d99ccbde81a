import { AppError } from '../errors.ts'
import type { Caller } from '../identity/callers.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { rawRetentionMs } from '../plans.ts'
import {
  type ItemFault,
  MAX_AGE_MS,
  MAX_FUTURE_MS,
  RECORD_STATUSES,
  type RecordStatus,
  type Rejection,
  rejection
} from '../protocol/heartbeat.ts'
import { createReading, readHeartbeat } from '../protocol/heartbeat-reader.ts'
import type { IngestQueue } from '../queue.ts'
import type { Receipt, Row } from './batch.ts'
import { createBatcher, type FlushRule } from './batcher.ts'
import type { WayIn } from './job.ts'

/** What became of one hand-in. `parts`: how often its receipt will be settled; 0 when nothing was accepted. */
export interface Accepted {
  accepted: number
  parts: number
  rejected: readonly Rejection[]
}

/** A mark that a push URL leaves: its time is the receive time. */
export interface PushRecord {
  monitorId: string
  status: RecordStatus
  latency: number | null
  message?: string | undefined
}

/**
 * THE DOOR. Every heartbeat passes here, whatever its way in: its fields are checked, its caller's monitor set, its time;
 * it is stamped with `receivedAt` and gathered into a job. Nothing counts as taken before the job is on Redis' disk.
 */
export interface Door {
  /** For sockets. Returns at once; `receipt.settle(tag, …)` follows for each part. Null: no room, nothing was taken. */
  accept(caller: Caller, items: readonly unknown[], receipt: Receipt, tag: number): Accepted | null
  /** For HTTP. Resolves when all that was accepted is durable. @throws AppError `overloaded` when that failed. */
  submit(caller: Caller, items: readonly unknown[]): Promise<Accepted>
  /** For push URLs, which say less than a heartbeat. @throws AppError `overloaded` */
  record(caller: Caller, record: PushRecord): Promise<void>
  oldestUnqueued(): number | null
  stop(): Promise<void>
}

interface Options {
  queue: IngestQueue
  /** How heartbeats come into this process; it decides the flush rule and how old they may be. */
  way: WayIn
  metrics: Metrics
  log: Log
  clock: () => number
}

const NONE: readonly Rejection[] = []
const FLUSH: Record<WayIn, FlushRule> = { socket: 'timer', http: 'turn' }

/** Resolves when `parts` settlements came without a fault, rejects at the first fault. */
class HttpReceipt implements Receipt {
  readonly done: Promise<void>
  #parts = 0
  #settled = 0
  #resolve: () => void = () => {}
  #reject: (error: AppError) => void = () => {}

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  expect(parts: number): Promise<void> {
    this.#parts = parts
    if (parts === 0) this.#resolve()
    return this.done
  }

  settle(_tag: number, error: AppError | null): void {
    if (error !== null) return this.#reject(error)
    this.#settled++
    if (this.#settled === this.#parts) this.#resolve()
  }
}

export function createDoor({ queue, way, metrics, log, clock }: Options): Door {
  const flush = FLUSH[way]
  const batcher = createBatcher({ queue, way, flush, metrics, log, clock })
  const reading = createReading()
  const row: Row = { monitorKey: 0, timestamp: 0, receivedAt: 0, status: 0, latency: 0, message: undefined }
  const refused = metrics.counter('pulsegate_heartbeats_rejected_total', 'code')
  let ticket = 0

  /** Reads one item into `row`; returns its fault, or null. */
  function judge(caller: Caller, item: unknown, now: number, oldest: number): ItemFault | null {
    const fault = readHeartbeat(item, reading)
    if (fault !== null) return fault
    if (reading.timestamp > now + MAX_FUTURE_MS) return 'timestamp_in_future'
    if (reading.timestamp < oldest) return 'timestamp_too_old'
    const monitorKey = caller.monitors.get(reading.monitorId)
    if (monitorKey === undefined) return 'monitor_not_allowed'
    row.monitorKey = monitorKey
    row.timestamp = reading.timestamp
    row.receivedAt = now
    row.status = RECORD_STATUSES.indexOf(reading.status)
    row.latency = reading.latency
    row.message = reading.message
    return null
  }

  function accept(caller: Caller, items: readonly unknown[], receipt: Receipt, tag: number): Accepted | null {
    if (batcher.full()) return null
    const now = clock()
    const oldest = now - (way === 'socket' ? rawRetentionMs(caller.plan) : MAX_AGE_MS)
    let rejected: Rejection[] | null = null
    let parts = 0
    ticket++
    for (let index = 0; index < items.length; index++) {
      const fault = judge(caller, items[index], now, oldest)
      if (fault === null) {
        if (batcher.append(caller.sourceId, row, ticket, receipt, tag)) parts++
      } else {
        refused.inc({ code: fault })
        rejected ??= []
        rejected.push(rejection(index, fault))
      }
    }
    return { accepted: items.length - (rejected?.length ?? 0), parts, rejected: rejected ?? NONE }
  }

  return {
    accept,
    submit: async (caller, items) => {
      const receipt = new HttpReceipt()
      const result = accept(caller, items, receipt, 0)
      if (result === null) throw new AppError('overloaded', { retryAfterSeconds: 5 })
      await receipt.expect(result.parts)
      return result
    },
    record: async (caller, { monitorId, status, latency, message }) => {
      if (batcher.full()) throw new AppError('overloaded', { retryAfterSeconds: 5 })
      const monitorKey = caller.monitors.get(monitorId)
      if (monitorKey === undefined) throw new AppError('not_found')
      const receivedAt = clock()
      const receipt = new HttpReceipt()
      const record = {
        monitorKey,
        timestamp: receivedAt,
        receivedAt,
        status: RECORD_STATUSES.indexOf(status),
        latency,
        message
      }
      ticket++
      batcher.append(caller.sourceId, record, ticket, receipt, 0)
      await receipt.expect(1)
    },
    oldestUnqueued: batcher.oldestUnqueued,
    stop: batcher.stop
  }
}
