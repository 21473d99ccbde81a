import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { IngestQueue } from '../queue.ts'
import { Batch, type Receipt, type Row } from './batch.ts'
import { MAX_JOB_ITEMS, type WayIn } from './job.ts'

/**
 * When a batch that is not full leaves. `timer`: 5 ms after its first heartbeat; sockets lose nothing by it and share jobs.
 * `turn`: at the end of this turn of the event loop while nothing is under way, else when that returns: a lone HTTP request
 * is answered 3.6 times faster so (`limits.md` B).
 */
export type FlushRule = 'timer' | 'turn'

const TIMER_MS = 5
/** Jobs of one shard under way at once; more only queue up inside Redis' one thread. */
const MAX_UNDER_WAY = { timer: 4, turn: 1 } as const
/** Bytes of heartbeats that may wait in this process; beyond it the door says `overloaded`. */
const MAX_BYTES = 64 * 1024 * 1024
/** Longest time from a heartbeat's coming to its being on disk; then whoever waits is told no. */
const DURABLE_MS = 5000
const CHECK_MS = 250

interface Options {
  queue: IngestQueue
  way: WayIn
  flush: FlushRule
  metrics: Metrics
  log: Log
  clock: () => number
}

export interface Batcher {
  /** Is there no room? Asked before a hand-in, never in the middle of one. */
  full(): boolean
  /** Puts a row into the open batch of its shard. Returns true when that batch was new to this ticket. */
  append(sourceId: string, row: Row, ticket: number, receipt: Receipt, tag: number): boolean
  /** Receive time (epoch ms) of the oldest heartbeat not yet on disk, or null. */
  oldestUnqueued(): number | null
  /** Sends what is left and waits for it. */
  stop(): Promise<void>
}

interface Lane {
  shard: number
  open: Batch | null
  sealed: Batch[]
  underWay: number
  planned: NodeJS.Timeout | NodeJS.Immediate | null
}

export function createBatcher({ queue, way, flush, metrics, log, clock }: Options): Batcher {
  const lanes: Lane[] = Array.from({ length: queue.shards }, (_, shard) => ({
    shard,
    open: null,
    sealed: [],
    underWay: 0,
    planned: null
  }))
  const unsettled = new Set<Batch>()
  let bytes = 0
  const accepted = metrics.counter('pulsegate_heartbeats_accepted_total', 'way').labels(way)
  const overloaded = metrics.counter('pulsegate_heartbeats_overloaded_total')
  const seconds = metrics.histogram('pulsegate_ingest_job_seconds')
  const buffered = metrics.gauge('pulsegate_ingest_buffered')
  const checking = setInterval(failLate, CHECK_MS)
  checking.unref()

  function finish(batch: Batch, error: AppError | null): void {
    if (!unsettled.delete(batch)) return
    bytes -= batch.bytes
    if (error === null) accepted.inc(batch.size)
    else overloaded.inc(batch.size)
    batch.settle(error)
  }

  function failLate(): void {
    const now = clock()
    let waiting = 0
    for (const batch of unsettled) {
      if (now - batch.openedAt > DURABLE_MS) {
        for (const lane of lanes) withdraw(lane, batch)
        finish(batch, new AppError('overloaded', { retryAfterSeconds: 5 }))
      } else waiting += batch.size
    }
    buffered.set(waiting)
  }

  /** Takes a batch that is not under way out of its lane, so that nothing is added to it or sent any more. */
  function withdraw(lane: Lane, batch: Batch): void {
    lane.sealed = lane.sealed.filter((other) => other !== batch)
    if (lane.open !== batch) return
    cancelPlan(lane)
    lane.open = null
  }

  async function send(lane: Lane, batch: Batch): Promise<void> {
    lane.underWay++
    const stopTimer = seconds.startTimer()
    try {
      await queue.add(lane.shard, batch.job)
      stopTimer()
      finish(batch, null)
    } catch (cause) {
      // Whether Redis has the job is not known, so nobody is told that it has; a resend is harmless.
      log.warn({ err: cause, heartbeats: batch.size }, 'a batch could not be queued')
      finish(batch, new AppError('overloaded', { cause, retryAfterSeconds: 5 }))
    }
    lane.underWay--
    next(lane)
  }

  function next(lane: Lane): void {
    while (lane.underWay < MAX_UNDER_WAY[flush]) {
      const batch = lane.sealed.shift()
      if (batch !== undefined) void send(lane, batch)
      else if (flush === 'turn' && lane.open !== null) seal(lane)
      else return
    }
  }

  function cancelPlan(lane: Lane): void {
    if (lane.planned === null) return
    if (flush === 'timer') clearTimeout(lane.planned as NodeJS.Timeout)
    else clearImmediate(lane.planned as NodeJS.Immediate)
    lane.planned = null
  }

  function seal(lane: Lane): void {
    cancelPlan(lane)
    if (lane.open === null) return
    lane.sealed.push(lane.open)
    lane.open = null
    next(lane)
  }

  function planFlush(lane: Lane): void {
    const leave = () => {
      lane.planned = null
      seal(lane)
    }
    if (flush === 'timer') lane.planned = setTimeout(leave, TIMER_MS)
    else if (lane.underWay === 0) lane.planned = setImmediate(leave)
  }

  function openBatch(lane: Lane): Batch {
    const batch = new Batch(way, clock())
    lane.open = batch
    unsettled.add(batch)
    planFlush(lane)
    return batch
  }

  return {
    full: () => bytes >= MAX_BYTES,
    append: (sourceId, row, ticket, receipt, tag) => {
      const lane = lanes[row.monitorKey % lanes.length] as Lane
      const batch = lane.open ?? openBatch(lane)
      const isNew = batch.lastTicket !== ticket
      if (isNew) batch.note(ticket, receipt, tag)
      const before = batch.bytes
      batch.add(sourceId, row)
      bytes += batch.bytes - before
      if (batch.size >= MAX_JOB_ITEMS) seal(lane)
      return isNew
    },
    oldestUnqueued: () => {
      let oldest: number | null = null
      for (const { openedAt } of unsettled) if (oldest === null || openedAt < oldest) oldest = openedAt
      return oldest
    },
    stop: async () => {
      for (const lane of lanes) seal(lane)
      while (unsettled.size > 0) await new Promise((resolve) => setTimeout(resolve, 10))
      clearInterval(checking)
    }
  }
}
