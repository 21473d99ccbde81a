import { type Job, Queue, UnrecoverableError, WaitingError, Worker } from 'bullmq'
import type { Log } from './log.ts'
import type { RedisClient, RedisConnection } from './redis.ts'

interface QueueOptions {
  redis: RedisConnection
  prefix: string
  shards: number
}

/** The braces are a Redis Cluster hash tag: all keys of one shard live in one slot. */
export function shardName(shard: number): string {
  return `{ingest-${shard}}`
}

export interface IngestQueue {
  readonly shards: number
  /**
   * Adds one job; resolves only when Redis has it on disk (`appendfsync always` answers after the fsync). `receivedAt` (epoch
   * ms) is that of its oldest heartbeat; now when absent.
   */
  add(shard: number, data: object, receivedAt?: number): Promise<void>
  /** Receive time (epoch ms) of the oldest heartbeat that waits or is being written, or null. Dead letters do not count. */
  oldest(): Promise<number | null>
  /** Jobs by state, summed over the shards. */
  counts(): Promise<QueueCounts>
  stop(): Promise<void>
}

export interface QueueCounts {
  waiting: number
  active: number
  delayed: number
  failed: number
}

const JOB_OPTIONS = {
  removeOnComplete: true,
  // The failed set is the dead letters: a job stays there, with its data and reason, until an operator decides.
  removeOnFail: false,
  // The worker itself waits while Postgres is away, so a try is only spent on what nobody expected.
  attempts: 5,
  backoff: { type: 'fixed', delay: 1000 }
} as const

/**
 * Jobs that are looked at, from either end of those that wait. They come in order but for those that are tried again, which
 * stand at one end or the other.
 */
const ENDS = 500

async function oldestOf(client: RedisClient, queue: Queue): Promise<number | null> {
  // At one moment, or a job on its way from one list to the other could be in neither.
  const answers = await client
    .multi()
    .lrange(queue.toKey('wait'), 0, ENDS - 1)
    .lrange(queue.toKey('wait'), -ENDS, -1)
    .lrange(queue.toKey('active'), 0, -1)
    .zrange(queue.toKey('delayed'), '0', '-1')
    .exec()
  const ids = new Set((answers ?? []).flatMap(([error, found]) => (error === null ? (found as string[]) : [])))
  // Markers of older versions of the queue, which are no jobs.
  const jobs = [...ids].filter((id) => !id.includes(':'))
  if (jobs.length === 0) return null
  const stamps = await Promise.all(jobs.map((id) => client.hget(queue.toKey(id), 'timestamp')))
  // A job without a stamp was finished meanwhile.
  const known = stamps.filter((stamp) => stamp !== null).map(Number)
  return known.length === 0 ? null : Math.min(...known)
}

export function openQueue({ redis, prefix, shards }: QueueOptions): IngestQueue {
  const queues = Array.from({ length: shards }, (_, shard) => {
    const queue = new Queue(shardName(shard), { connection: redis.client, prefix, skipVersionCheck: true })
    // BullMQ prints what nobody hears. The connection has said it already, and who adds a job is told by `add`.
    queue.on('error', () => undefined)
    return queue
  })
  return {
    shards,
    add: async (shard, data, receivedAt = Date.now()) => {
      await queues[shard]?.add('heartbeats', data, { ...JOB_OPTIONS, timestamp: receivedAt })
    },
    oldest: async () => {
      const found = await Promise.all(queues.map((queue) => oldestOf(redis.client, queue)))
      const known = found.filter((receivedAt) => receivedAt !== null)
      return known.length === 0 ? null : Math.min(...known)
    },
    counts: async () => {
      const total: QueueCounts = { waiting: 0, active: 0, delayed: 0, failed: 0 }
      for (const queue of queues) {
        const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed')
        for (const name of Object.keys(total) as Array<keyof QueueCounts>) total[name] += counts[name] ?? 0
      }
      return total
    },
    stop: async () => {
      await Promise.all(queues.map((queue) => queue.close()))
    }
  }
}

/** Thrown by a handler that stops: the job returns to the queue untouched, for another worker. */
export class PutBack extends Error {
  override name = 'PutBack'
}
/** The job can never succeed: it goes to the dead letters with this message as its reason. */
export class DeadLetter extends Error {
  override name = 'DeadLetter'
}

interface WorkOptions {
  redis: RedisConnection
  prefix: string
  shards: number
  /** Jobs of one shard that may be under way at once. */
  concurrency: number
  log: Log
  /** Resolve: the job is done and forgotten. Throw PutBack or DeadLetter, or anything else to have it tried again. */
  handle(data: unknown, jobId: string): Promise<void>
}

/** Longest time a worker holds a job without renewing its lock; a killed worker's jobs are taken over after it. */
const LOCK_MS = 15_000
/** A job whose worker was killed this often in a row is suspected of killing it. */
const MAX_STALLED = 10

async function process(job: Job, token: string | undefined, handle: WorkOptions['handle']): Promise<void> {
  try {
    await handle(job.data, job.id ?? '')
  } catch (error) {
    if (error instanceof PutBack) {
      await job.moveToWait(token)
      throw Object.assign(new WaitingError(error.message), { cause: error })
    }
    if (error instanceof DeadLetter) throw Object.assign(new UnrecoverableError(error.message), { cause: error })
    throw error
  }
}

/** Works the jobs of every shard. `stop` waits for the jobs under way. */
export function workQueue({ redis, prefix, shards, concurrency, log, handle }: WorkOptions): { stop(): Promise<void> } {
  const workers = Array.from({ length: shards }, (_, shard) => {
    const worker = new Worker(shardName(shard), (job, token) => process(job, token, handle), {
      connection: redis.client,
      prefix,
      concurrency,
      skipVersionCheck: true,
      lockDuration: LOCK_MS,
      stalledInterval: LOCK_MS / 3,
      maxStalledCount: MAX_STALLED
    })
    worker.on('error', (error) => log.warn({ err: error }, 'queue'))
    worker.on('failed', (job, error) => {
      if (job !== undefined && (error.name === 'UnrecoverableError' || job.attemptsMade >= JOB_OPTIONS.attempts)) {
        log.error({ jobId: job.id, reason: error.message }, 'a job went to the dead letters')
      }
    })
    return worker
  })
  return {
    stop: async () => {
      await Promise.all(workers.map((worker) => worker.close()))
    }
  }
}

/** A job in the dead letters, as an operator sees it. */
export interface DeadJob {
  /** `<shard>-<number of the job>`. */
  id: string
  reason: string
  /** Epoch ms. */
  failedAt: number
  tries: number
  data: unknown
}

/** The jobs that could not be written. Nothing here deletes one. */
export interface DeadLetters {
  count(): Promise<number>
  /** The newest of each shard, at most `limit` of each, newest first. */
  list(limit: number): Promise<DeadJob[]>
  find(id: string): Promise<DeadJob | null>
  /** Puts the job back into the queue with all its tries; false when it is no dead letter. */
  retry(id: string): Promise<boolean>
  /** The same for all that are there now; resolves to their number. */
  retryAll(): Promise<number>
  stop(): Promise<void>
}

type FoundJob = Awaited<ReturnType<Queue['getJobs']>>[number]

/** So many are read at once: a job may hold 1,000 heartbeats. */
const DEAD_PAGE = 50

function toDeadJob(shard: number, job: FoundJob): DeadJob {
  return {
    id: `${shard}-${job.id}`,
    reason: job.failedReason ?? 'unknown',
    failedAt: job.finishedOn ?? job.timestamp,
    tries: job.attemptsMade,
    data: job.data
  }
}

/** The ids of a shard's dead letters that are there now: one that fails again meanwhile must not be met twice. */
async function deadIds(queue: Queue): Promise<string[]> {
  const ids: string[] = []
  for (let start = 0; ; start += DEAD_PAGE) {
    const page = await queue.getJobs('failed', start, start + DEAD_PAGE - 1, true)
    for (const job of page) if (job.id !== undefined) ids.push(job.id)
    if (page.length < DEAD_PAGE) return ids
  }
}

async function retryDead(queue: Queue | undefined, jobId: string): Promise<boolean> {
  const job = await queue?.getJob(jobId)
  if (job === undefined || !(await job.isFailed())) return false
  await job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true })
  return true
}

/** Opens the dead letters of every shard, for operators. */
export function openDeadLetters({ redis, prefix, shards }: QueueOptions): DeadLetters {
  const queues = Array.from(
    { length: shards },
    (_, shard) => new Queue(shardName(shard), { connection: redis.client, prefix, skipVersionCheck: true })
  )
  const locate = (id: string) => {
    const [, shard, jobId = ''] = /^(\d{1,2})-(\d+)$/.exec(id) ?? []
    return { shard: Number(shard), queue: shard === undefined ? undefined : queues[Number(shard)], jobId }
  }
  return {
    count: async () => {
      const counts = await Promise.all(queues.map((queue) => queue.getFailedCount()))
      return counts.reduce((sum, count) => sum + count, 0)
    },
    list: async (limit) => {
      const lists = queues.map(async (queue, shard) => {
        const jobs = await queue.getJobs('failed', 0, limit - 1)
        return jobs.map((job) => toDeadJob(shard, job))
      })
      return (await Promise.all(lists)).flat().sort((a, b) => b.failedAt - a.failedAt)
    },
    find: async (id) => {
      const { shard, queue, jobId } = locate(id)
      const job = await queue?.getJob(jobId)
      return job !== undefined && (await job.isFailed()) ? toDeadJob(shard, job) : null
    },
    retry: (id) => {
      const { queue, jobId } = locate(id)
      return retryDead(queue, jobId)
    },
    retryAll: async () => {
      let retried = 0
      for (const queue of queues) {
        for (const jobId of await deadIds(queue)) if (await retryDead(queue, jobId)) retried++
      }
      return retried
    },
    stop: async () => {
      await Promise.all(queues.map((queue) => queue.close()))
    }
  }
}
