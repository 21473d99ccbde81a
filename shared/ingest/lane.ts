import type { Batch } from './batch.ts'

/**
 * When a batch that is not full leaves. `timer`: 2 ms after its first heartbeat; sockets lose nothing by it and share jobs.
 * `turn`: at the end of this turn of the event loop while nothing is under way, else when that returns: a lone HTTP request
 * is answered 3.6 times faster so (measured against a 2 ms timer).
 */
export type FlushRule = 'timer' | 'turn'

const TIMER_MS = 2
/** Jobs of one shard under way at once; more only queue up inside Redis' one thread. */
const MAX_UNDER_WAY = { timer: 4, turn: 1 } as const

interface Options {
  flush: FlushRule
  /** A batch to write into from now on; `receivedAt`: of its first heartbeat, epoch ms. */
  createBatch(receivedAt: number): Batch
  /** Makes the batch durable; never rejects. */
  send(batch: Batch): Promise<void>
}

/** The batches of one shard on their way: one open, some sealed, a few being sent. */
export class Lane {
  readonly #options: Options
  #open: Batch | null = null
  #sealed: Batch[] = []
  #underWay = 0
  #timer: NodeJS.Timeout | undefined
  #immediate: NodeJS.Immediate | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** The batch that takes the next heartbeat, which was received at `receivedAt` (epoch ms). */
  open(receivedAt: number): Batch {
    if (this.#open === null) {
      this.#open = this.#options.createBatch(receivedAt)
      this.#planFlush()
    }
    return this.#open
  }

  /** The open batch takes no more. */
  seal(): void {
    this.#cancelFlush()
    if (this.#open === null) return
    this.#sealed.push(this.#open)
    this.#open = null
    this.#next()
  }

  /** Takes a batch that is not under way out, so that nothing is added to it or sent any more. */
  withdraw(batch: Batch): void {
    this.#sealed = this.#sealed.filter((other) => other !== batch)
    if (this.#open !== batch) return
    this.#cancelFlush()
    this.#open = null
  }

  #planFlush(): void {
    if (this.#options.flush === 'timer') this.#timer = setTimeout(() => this.seal(), TIMER_MS)
    else if (this.#underWay === 0) this.#immediate = setImmediate(() => this.seal())
  }

  #cancelFlush(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#immediate)
  }

  #next(): void {
    while (this.#underWay < MAX_UNDER_WAY[this.#options.flush]) {
      const batch = this.#sealed.shift()
      if (batch === undefined) return
      this.#underWay++
      void this.#options.send(batch).then(() => this.#returned())
    }
  }

  #returned(): void {
    this.#underWay--
    if (this.#options.flush === 'turn' && this.#underWay === 0) this.seal()
    this.#next()
  }
}
