import { RateLimiterRedis } from 'rate-limiter-flexible'
import type { RedisClient } from './redis.ts'

/**
 * Counts events by key, in Redis and so by all processes together; after `points` of them within `seconds` of the first,
 * the key has to wait. For events that are rare: each one waits for Redis to have it on the disk (`counts.ts` does not).
 * Rejects when Redis is away.
 */
export interface RateLimit {
  /**
   * Counts first and then judges, in one step, so that attempts made at the same moment cannot pass together. Whole
   * seconds to wait; 0 when this one was within the limit.
   */
  take(key: string): Promise<number>
  /** Takes one count back. */
  giveBack(key: string): Promise<void>
}

interface Options {
  /** Part of the stored key. */
  name: string
  points: number
  seconds: number
}

export function createSharedLimit(client: RedisClient, prefix: string, { name, points, seconds }: Options): RateLimit {
  const keyPrefix = `${prefix}:limit:${name}`
  const limiter = new RateLimiterRedis({ storeClient: client, keyPrefix, points, duration: seconds })
  return {
    take: async (key) => {
      const seen = await limiter.penalty(key, 1)
      return seen.consumedPoints > points ? Math.max(1, Math.ceil(seen.msBeforeNext / 1000)) : 0
    },
    giveBack: async (key) => {
      await limiter.reward(key, 1)
    }
  }
}
