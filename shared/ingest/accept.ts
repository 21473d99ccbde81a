import { AppError } from '../errors.ts'
import type { Caller } from '../identity/caller.ts'
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
import { Batcher } from './batcher.ts'
import { HttpReceipt } from './http-receipt.ts'
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
  /** Which run of a job it belongs to. */
  rid?: string | undefined
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
const RETRY_SECONDS = 5

/**
 * THE DOOR. Every heartbeat passes here, whatever its way in: its fields are checked, its caller's monitor set, its time;
 * it is stamped with `receivedAt` and gathered into a job. Nothing counts as taken before the job is on Redis' disk.
 */
export class Door {
  readonly #way: WayIn
  readonly #clock: () => number
  readonly #batcher: Batcher
  readonly #refused
  readonly #reading = createReading()
  readonly #row: Row = {
    monitorKey: 0,
    timestamp: 0,
    receivedAt: 0,
    status: 0,
    latency: 0,
    message: undefined,
    rid: undefined
  }
  #ticket = 0

  constructor(options: Options) {
    this.#way = options.way
    this.#clock = options.clock
    this.#batcher = new Batcher(options)
    this.#refused = options.metrics.counter('pulsegate_heartbeats_rejected_total', 'code')
  }

  /** For sockets. Returns at once; `receipt.settle(tag, …)` follows for each part. Null: no room, nothing was taken. */
  accept(caller: Caller, items: readonly unknown[], receipt: Receipt, tag: number): Accepted | null {
    if (this.#batcher.full) return null
    const now = this.#clock()
    const oldest = now - (this.#way === 'socket' ? rawRetentionMs(caller.plan) : MAX_AGE_MS)
    let rejected: Rejection[] | undefined
    let parts = 0
    this.#ticket++
    for (let index = 0; index < items.length; index++) {
      const fault = this.#judge(caller, items[index], now, oldest)
      if (fault !== null) {
        this.#refused.inc({ code: fault })
        rejected ??= []
        rejected.push(rejection(index, fault))
      } else if (this.#batcher.append(caller.sourceId, this.#row, this.#ticket, receipt, tag)) parts++
    }
    return { accepted: items.length - (rejected?.length ?? 0), parts, rejected: rejected ?? NONE }
  }

  /** For HTTP. Resolves when all that was accepted is durable. @throws AppError `overloaded` when that failed. */
  async submit(caller: Caller, items: readonly unknown[]): Promise<Accepted> {
    const receipt = new HttpReceipt()
    const result = this.accept(caller, items, receipt, 0)
    if (result === null) throw new AppError('overloaded', { retryAfterSeconds: RETRY_SECONDS })
    await receipt.wait(result.parts)
    return result
  }

  /** For push URLs, which say less than a heartbeat. @throws AppError `overloaded`, or `not_found` for a foreign monitor. */
  async record(caller: Caller, { monitorId, status, latency, message, rid }: PushRecord): Promise<void> {
    if (this.#batcher.full) throw new AppError('overloaded', { retryAfterSeconds: RETRY_SECONDS })
    const monitorKey = caller.monitors.get(monitorId)
    if (monitorKey === undefined) throw new AppError('not_found')
    const now = this.#clock()
    const receipt = new HttpReceipt()
    const row = {
      monitorKey,
      timestamp: now,
      receivedAt: now,
      status: RECORD_STATUSES.indexOf(status),
      latency,
      message,
      rid
    }
    this.#ticket++
    this.#batcher.append(caller.sourceId, row, this.#ticket, receipt, 0)
    await receipt.wait(1)
  }

  /** Receive time (epoch ms) of the oldest heartbeat not yet on disk, or null. */
  oldestUnqueued(): number | null {
    return this.#batcher.oldestUnqueued()
  }

  /** Lets what was taken become durable. */
  stop(): Promise<void> {
    return this.#batcher.stop()
  }

  /** Reads one item into the row; returns its fault, or null. `oldest`: the earliest timestamp, epoch ms. */
  #judge(caller: Caller, item: unknown, now: number, oldest: number): ItemFault | null {
    const reading = this.#reading
    const fault = readHeartbeat(item, reading)
    if (fault !== null) return fault
    if (reading.timestamp > now + MAX_FUTURE_MS) return 'timestamp_in_future'
    if (reading.timestamp < oldest) return 'timestamp_too_old'
    const monitorKey = caller.monitors.get(reading.monitorId)
    if (monitorKey === undefined) return 'monitor_not_allowed'
    const row = this.#row
    row.monitorKey = monitorKey
    row.timestamp = reading.timestamp
    row.receivedAt = now
    row.status = RECORD_STATUSES.indexOf(reading.status)
    row.latency = reading.latency
    row.message = reading.message
    return null
  }
}

export function createDoor(options: Options): Door {
  return new Door(options)
}
