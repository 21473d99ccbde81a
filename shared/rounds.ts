import { Queue, Worker } from 'bullmq'
import type { Log } from './log.ts'
import type { RedisConnection } from './redis.ts'

interface RoundOptions {
  redis: RedisConnection
  prefix: string
  /** Of a queue of its own. */
  name: string
  everyMs: number
  log: Log
  /** Not called again by this process before it has ended; another process may be in a round of its own. */
  run(): Promise<void>
}

/** Longest time that a process holds a round without renewing its lock. */
const LOCK_MS = 30_000
/** Longest time that stopping waits for a round under way. */
const ROUND_STOP_MS = 2000

/**
 * Runs something at this pace for as long as any process that called this with the same name lives: each round is run by
 * one of them. A round that fails is not tried again, for the next is near.
 */
export async function startRounds({
  redis,
  prefix,
  name,
  everyMs,
  log,
  run
}: RoundOptions): Promise<{ stop(): Promise<void> }> {
  const shared = { connection: redis.client, prefix, skipVersionCheck: true }
  const queue = new Queue(`{${name}}`, shared)
  queue.on('error', () => undefined)
  let current: Promise<void> = Promise.resolve()
  const round = () => {
    current = run().catch((error: unknown) => log.warn({ err: error, rounds: name }, 'a round failed'))
    return current
  }
  await queue.upsertJobScheduler(
    name,
    { every: everyMs },
    { name, opts: { removeOnComplete: true, removeOnFail: true } }
  )
  const worker = new Worker(`{${name}}`, round, {
    ...shared,
    lockDuration: LOCK_MS,
    stalledInterval: LOCK_MS / 2,
    maxStalledCount: 0
  })
  worker.on('error', (error) => log.warn({ err: error, rounds: name }, 'rounds'))
  return {
    stop: async () => {
      const closing = worker.close()
      const late = new Promise<void>((resolve) => setTimeout(resolve, ROUND_STOP_MS).unref())
      await Promise.race([closing, late])
      // Redis may be away: what is left of the round is cut off.
      await worker.close(true)
      await Promise.race([current, late])
      await queue.close()
    }
  }
}
