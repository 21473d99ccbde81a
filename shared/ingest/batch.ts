import type { AppError } from '../errors.ts'
import type { IngestJob, WayIn } from './job.ts'

/** Whoever waits for heartbeats to be durable. `tag` is the waiter's own (a socket's seq). */
export interface Receipt {
  /** Called once for each batch that holds a part of what was handed in; null means that this part is on disk. */
  settle(tag: number, error: AppError | null): void
}

/** One row on its way into a batch; reused by the door, so the hot path allocates nothing. */
export interface Row {
  monitorKey: number
  /** Epoch ms. */
  timestamp: number
  /** Epoch ms. */
  receivedAt: number
  /** Index in RECORD_STATUSES. */
  status: number
  latency: number | null
  message: string | undefined
  /** Which run of a job it belongs to, where the source tells it. */
  rid: string | undefined
}

/** Rough bytes of one heartbeat while it waits, without its message. */
const ROW_BYTES = 120

/** Heartbeats gathered for one job, and who waits for them. */
export class Batch {
  readonly job: IngestJob
  readonly way: WayIn
  /** When its first heartbeat was received, epoch ms. */
  readonly openedAt: number
  /** The same moment in monotonic ms, which deadlines are counted from: the wall clock may jump. */
  readonly bornAt = performance.now()
  /** Resolves when it is settled, either way. */
  readonly done: Promise<void>
  /** Number of the hand-in that wrote here last: tells the door whether its receipt is already noted. */
  lastTicket = -1
  /** Rough bytes held. */
  bytes = 0
  readonly #receipts: Receipt[] = []
  readonly #tags: number[] = []
  readonly #sources = new Map<string, number>()
  #resolve: (() => void) | undefined

  constructor(way: WayIn, openedAt: number) {
    this.way = way
    this.openedAt = openedAt
    this.job = { v: 1, base: openedAt, sources: [], m: [], t: [], r: [], s: [], l: [], x: [], texts: [] }
    this.done = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  get size(): number {
    return this.job.m.length
  }

  /** Notes who waits; once for each hand-in. */
  note(ticket: number, receipt: Receipt, tag: number): void {
    this.lastTicket = ticket
    this.#receipts.push(receipt)
    this.#tags.push(tag)
  }

  /** Returns the rough bytes that it added. */
  add(sourceId: string, row: Row): number {
    const { job } = this
    let source = this.#sources.get(sourceId)
    if (source === undefined) {
      source = job.sources.length
      job.sources.push([sourceId, this.way])
      this.#sources.set(sourceId, source)
    }
    let added = ROW_BYTES
    if (row.message !== undefined) {
      job.texts.push([job.m.length, row.message])
      added += row.message.length * 2
    }
    if (row.rid !== undefined) {
      job.rids ??= []
      job.rids.push([job.m.length, row.rid])
    }
    job.m.push(row.monitorKey)
    job.t.push(row.timestamp - job.base)
    job.r.push(row.receivedAt - job.base)
    job.s.push(row.status)
    job.l.push(row.latency)
    job.x.push(source)
    this.bytes += added
    return added
  }

  /** Tells everybody who waits. Called once. */
  settle(error: AppError | null): void {
    for (let i = 0; i < this.#receipts.length; i++) this.#receipts[i]?.settle(this.#tags[i] as number, error)
    this.#resolve?.()
  }
}
