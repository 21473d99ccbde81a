import { type Job, Queue, UnrecoverableError, WaitingError, Worker } from 'bullmq'
import type { Log } from './log.ts'
import type { RedisConnection } from './redis.ts'

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
  /** Adds one job; resolves only when Redis has it on disk (`appendfsync always` answers after the fsync). */
  add(shard: number, data: object): Promise<void>
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

export function openQueue({ redis, prefix, shards }: QueueOptions): IngestQueue {
  const queues = Array.from(
    { length: shards },
    (_, shard) => new Queue(shardName(shard), { connection: redis.client, prefix, skipVersionCheck: true })
  )
  return {
    shards,
    add: async (shard, data) => {
      await queues[shard]?.add('heartbeats', data, JOB_OPTIONS)
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
