import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { PROTOCOL } from '../protocol/frames.ts'
import type { IngestQueue } from '../queue.ts'
import { Batch, type Receipt, type Row } from './batch.ts'
import { MAX_JOB_ITEMS, type WayIn } from './job.ts'
import { type FlushRule, Lane } from './lane.ts'

/** Bytes of heartbeats that may wait in this process; beyond it the door says `overloaded`. */
const MAX_BYTES = 64 * 1024 * 1024
const CHECK_MS = 250
const FLUSH: Record<WayIn, FlushRule> = { socket: 'timer', http: 'turn' }

interface Options {
  queue: IngestQueue
  way: WayIn
  metrics: Metrics
  log: Log
  clock: () => number
}

/** Gathers heartbeats into jobs, one lane a shard, and tells whoever waits when they are on disk, or will not be. */
export class Batcher {
  readonly #options: Options
  readonly #lanes: Lane[]
  readonly #unsettled = new Set<Batch>()
  readonly #accepted
  readonly #overloaded
  readonly #buffered
  readonly #seconds
  readonly #checking: NodeJS.Timeout
  #bytes = 0

  constructor(options: Options) {
    const { queue, way, metrics } = options
    this.#options = options
    this.#lanes = Array.from(
      { length: queue.shards },
      (_, shard) =>
        new Lane({
          flush: FLUSH[way],
          createBatch: (receivedAt) => this.#createBatch(receivedAt),
          send: (batch) => this.#send(shard, batch)
        })
    )
    this.#accepted = metrics.counter('pulsegate_heartbeats_accepted_total', 'way').labels(way)
    this.#overloaded = metrics.counter('pulsegate_heartbeats_overloaded_total')
    this.#buffered = metrics.gauge('pulsegate_ingest_buffered')
    this.#seconds = metrics.histogram('pulsegate_ingest_job_seconds')
    this.#checking = setInterval(() => this.#failLate(), CHECK_MS)
  }

  /** Is there no room? Asked before a hand-in, never in the middle of one. */
  get full(): boolean {
    return this.#bytes >= MAX_BYTES
  }

  /** Puts a row into the open batch of its shard. Returns true when that batch was new to this ticket. */
  append(sourceId: string, row: Row, ticket: number, receipt: Receipt, tag: number): boolean {
    // One lane a shard, so there is one.
    const lane = this.#lanes[row.monitorKey % this.#lanes.length] as Lane
    const batch = lane.open(row.receivedAt)
    const isNew = batch.lastTicket !== ticket
    if (isNew) batch.note(ticket, receipt, tag)
    this.#bytes += batch.add(sourceId, row)
    if (batch.size >= MAX_JOB_ITEMS) lane.seal()
    return isNew
  }

  /** Receive time (epoch ms) of the oldest heartbeat not yet on disk, or null. */
  oldestUnqueued(): number | null {
    // A set keeps the order of insertion, so the first is the oldest.
    return this.#unsettled.values().next().value?.openedAt ?? null
  }

  /** Sends what is left and waits for it, at most the 5 s after which it is given up. */
  async stop(): Promise<void> {
    for (const lane of this.#lanes) lane.seal()
    await Promise.all([...this.#unsettled].map((batch) => batch.done))
    clearInterval(this.#checking)
  }

  #createBatch(receivedAt: number): Batch {
    const batch = new Batch(this.#options.way, receivedAt)
    this.#unsettled.add(batch)
    return batch
  }

  async #send(shard: number, batch: Batch): Promise<void> {
    const stopTimer = this.#seconds.startTimer()
    try {
      await this.#options.queue.add(shard, batch.job, batch.openedAt)
      stopTimer()
      this.#finish(batch, null)
    } catch (cause) {
      // Whether Redis has the job is not known, so nobody is told that it has; a resend is harmless.
      this.#options.log.warn({ err: cause, heartbeats: batch.size }, 'a batch could not be queued')
      this.#finish(batch, new AppError('overloaded', { cause, retryAfterSeconds: 5 }))
    }
  }

  #finish(batch: Batch, error: AppError | null): void {
    if (!this.#unsettled.delete(batch)) return
    this.#bytes -= batch.bytes
    if (error === null) this.#accepted.inc(batch.size)
    else this.#overloaded.inc(batch.size)
    batch.settle(error)
  }

  #failLate(): void {
    const now = performance.now()
    let waiting = 0
    for (const batch of this.#unsettled) {
      if (now - batch.bornAt <= PROTOCOL.durableWithinMs) {
        waiting += batch.size
        continue
      }
      for (const lane of this.#lanes) lane.withdraw(batch)
      this.#finish(batch, new AppError('overloaded', { retryAfterSeconds: 5 }))
    }
    this.#buffered.set(waiting)
  }
}
