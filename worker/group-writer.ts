import { type Database, isMisfit, isTransient, sqlState } from '../shared/db.ts'
import type { IngestJob } from '../shared/ingest/job.ts'
import type { Log } from '../shared/log.ts'
import type { Metrics } from '../shared/metrics.ts'
import { DeadLetter, PutBack } from '../shared/queue.ts'
import { daysOf, faultOf, type Group, mergeJobs } from './group.ts'
import { makeDays } from './history.ts'
import type { LivePublisher } from './live.ts'
import { Recorder, type WritePath } from './record-heartbeats.ts'

/** Jobs of a shard under way at once: twice what fills a transaction, so that the next comes in while one runs. */
export const CONCURRENCY = 128
/**
 * Most rows in one transaction: half of what a shard may have under way. The larger a group, the more heartbeats of one monitor share
 * the update of its state.
 */
const MAX_ROWS = 64_000
/**
 * Fewer rows than this wait until the last transaction began this long ago: small commits cost more than they carry, and
 * their fsyncs stand in the way of Redis'. The first heartbeat after a pause waits for nothing, and nobody waits when all
 * jobs that may be under way are here.
 */
const FEW_ROWS = 4000
const PACE_MS = 100
/** Waits while Postgres is away, or does not fit: 250 ms doubling to 5 s. */
const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 5000
/** After this many groups in a row met a duplicate, `merge` is used straight away for a while. */
const CONFLICTS_IN_A_ROW = 3
const MERGE_GROUPS = 32

const UNIQUE_VIOLATION = '23505'
const NO_PARTITION = '23514'

interface Waiting {
  job: IngestJob
  resolve: () => void
  reject: (error: Error) => void
}

interface Attempt {
  path: WritePath
  /** `missing`: a row found no partition. */
  days: 'unknown' | 'missing' | 'made'
  waitMs: number
}

interface Deps {
  db: Database
  /** Who watches is told; absent: nobody is. */
  live?: LivePublisher
  metrics: Metrics
  log: Log
  clock: () => number
  /** As of a worker. */
  states?: boolean
}

/**
 * Gathers the jobs that wait while a transaction runs into the next one. A job is settled only after its commit.
 * While Postgres is away, or its schema is not the one of this program, jobs simply wait here, locked in the queue; a job
 * that can never be written is set apart from its group and refused with its reason.
 */
export class GroupWriter {
  readonly #deps: Deps
  readonly #recorder: Recorder
  readonly #rows
  readonly #skipped
  readonly #transitions
  readonly #seconds
  #waiting: Waiting[] = []
  #running: Promise<void> | null = null
  #stopping = false
  #wake: (() => void) | undefined
  #endRest: (() => void) | undefined
  #conflicts = 0
  #mergeLeft = 0
  /** When the last transaction began, monotonic ms. */
  #beganAt = 0

  constructor(deps: Deps) {
    this.#deps = deps
    this.#recorder = new Recorder(deps.db, deps.clock, deps.states)
    this.#rows = deps.metrics.counter('pulsegate_worker_rows_total', 'path')
    this.#skipped = deps.metrics.counter('pulsegate_worker_skipped_total')
    this.#transitions = deps.metrics.counter('pulsegate_worker_transitions_total')
    this.#seconds = deps.metrics.histogram('pulsegate_worker_group_seconds')
  }

  /** Resolves when the job's heartbeats are committed. @throws DeadLetter, or PutBack when the worker stops first. */
  write(data: unknown): Promise<void> {
    const fault = faultOf(data)
    if (fault !== null) return Promise.reject(new DeadLetter(fault))
    if (this.#stopping) return Promise.reject(new PutBack('the worker stops'))
    return new Promise((resolve, reject) => {
      // faultOf found it sound.
      this.#waiting.push({ job: data as IngestJob, resolve, reject })
      this.#running ??= this.#run()
      if (this.#isWorthIt()) this.#endRest?.()
    })
  }

  /** Finishes the transaction under way; what has not begun goes back to the queue. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#wake?.()
    this.#endRest?.()
    await this.#running
  }

  async #run(): Promise<void> {
    // The queue hands over several jobs in one turn: let them come together.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) {
      await this.#keepPace()
      const taken = this.#take()
      if (this.#stopping) for (const { reject } of taken) reject(new PutBack('the worker stops'))
      else await this.#settle(taken)
    }
    this.#running = null
  }

  /** Is nothing to be gained by waiting for more? */
  #isWorthIt(): boolean {
    if (this.#waiting.length >= CONCURRENCY) return true
    return this.#waiting.reduce((sum, { job }) => sum + job.m.length, 0) >= FEW_ROWS
  }

  async #keepPace(): Promise<void> {
    const rest = this.#beganAt + PACE_MS - performance.now()
    if (rest > 0 && !this.#isWorthIt() && !this.#stopping) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, rest)
        this.#endRest = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      this.#endRest = undefined
    }
    this.#beganAt = performance.now()
  }

  #take(): Waiting[] {
    let rows = 0
    let count = 0
    for (const { job } of this.#waiting) {
      if (count > 0 && rows + job.m.length > MAX_ROWS) break
      rows += job.m.length
      count++
    }
    return this.#waiting.splice(0, count)
  }

  async #settle(taken: Waiting[]): Promise<void> {
    try {
      await this.#record(mergeJobs(taken.map(({ job }) => job)))
      for (const { resolve } of taken) resolve()
    } catch (error) {
      await this.#refuse(taken, error)
    }
  }

  /** One job that can never be written must not take its neighbours with it: each is tried by itself. */
  async #refuse(taken: Waiting[], error: unknown): Promise<void> {
    if (taken.length > 1 && !(error instanceof PutBack)) {
      for (const one of taken) await this.#settle([one])
      return
    }
    const reason = error instanceof Error ? error.message : String(error)
    const answer = error instanceof PutBack ? error : new DeadLetter(reason, { cause: error })
    for (const { reject } of taken) reject(answer)
  }

  /** Writes the group, whatever it takes short of what can never work. */
  async #record(group: Group): Promise<void> {
    const attempt: Attempt = { path: this.#mergeLeft > 0 ? 'merge' : 'copy', days: 'unknown', waitMs: FIRST_WAIT_MS }
    for (;;) {
      try {
        if (attempt.days === 'missing') {
          await makeDays(this.#deps.db, daysOf(group), this.#deps.clock())
          attempt.days = 'made'
        }
        return await this.#once(group, attempt.path)
      } catch (error) {
        await this.#recover(error, attempt)
      }
    }
  }

  /** Makes another attempt worth while. @throws the error itself when none is. */
  async #recover(error: unknown, attempt: Attempt): Promise<void> {
    if (error instanceof DeadLetter) throw error
    const state = sqlState(error)
    if (state === UNIQUE_VIOLATION && attempt.path === 'copy') {
      attempt.path = 'merge'
    } else if (state === NO_PARTITION && attempt.days === 'unknown') {
      attempt.days = 'missing'
    } else if (isTransient(error) || isMisfit(error)) {
      await this.#pause(attempt.waitMs, error)
      attempt.waitMs = Math.min(attempt.waitMs * 2, LONGEST_WAIT_MS)
    } else throw error
  }

  async #once(group: Group, path: WritePath): Promise<void> {
    const stopTimer = this.#seconds.startTimer()
    const recorded = await this.#recorder.record(group, path)
    stopTimer()
    this.#rows.inc({ path }, recorded.rows)
    this.#skipped.inc(recorded.skipped)
    this.#transitions.inc(recorded.transitions.length)
    this.#deps.live?.published(group, recorded.transitions)
    this.#learn(path)
  }

  /** Duplicates come in swarms (a reconnecting agent, a killed worker): then COPY would fail group after group. */
  #learn(path: WritePath): void {
    if (this.#mergeLeft > 0) this.#mergeLeft--
    else if (path === 'copy') this.#conflicts = 0
    else if (++this.#conflicts >= CONFLICTS_IN_A_ROW) {
      this.#conflicts = 0
      this.#mergeLeft = MERGE_GROUPS
    }
  }

  async #pause(ms: number, error: unknown): Promise<void> {
    if (this.#stopping) throw new PutBack('the worker stops')
    const { log } = this.#deps
    const details = { err: error, waitMs: ms }
    if (isMisfit(error)) log.error(details, 'this program and the database schema do not fit; the group waits')
    else log.warn(details, 'Postgres is away or busy; the group waits')
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    if (this.#stopping) throw new PutBack('the worker stops')
  }
}
