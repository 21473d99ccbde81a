import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import type { RedisClient } from './redis.ts'

/** Counts events by key; after `points` of them within `seconds` of the first, the key has to wait. */
export interface RateLimit {
  /** Whole seconds until the key may try again; 0 when it may now. Counts nothing. */
  secondsToWait(key: string): Promise<number>
  count(key: string): Promise<void>
  /**
   * Counts first and then judges, in one step, so that attempts made at the same moment cannot pass together. Whole
   * seconds to wait; 0 when this one was within the limit.
   */
  take(key: string): Promise<number>
  /** Takes one count back. */
  giveBack(key: string): Promise<void>
  forget(key: string): Promise<void>
}

interface Options {
  /** Part of the stored key. */
  name: string
  points: number
  seconds: number
}

function limit(limiter: RateLimiterAbstract, points: number): RateLimit {
  return {
    secondsToWait: async (key) => {
      const seen = await limiter.get(key)
      return seen !== null && seen.consumedPoints >= points ? Math.max(1, Math.ceil(seen.msBeforeNext / 1000)) : 0
    },
    count: async (key) => {
      await limiter.penalty(key, 1)
    },
    take: async (key) => {
      const seen = await limiter.penalty(key, 1)
      return seen.consumedPoints > points ? Math.max(1, Math.ceil(seen.msBeforeNext / 1000)) : 0
    },
    giveBack: async (key) => {
      await limiter.reward(key, 1)
    },
    forget: async (key) => {
      await limiter.delete(key)
    }
  }
}

/** Counted in this process alone: for guards that must not cost a journey to Redis. */
export function createLocalLimit({ name, points, seconds }: Options): RateLimit {
  return limit(new RateLimiterMemory({ keyPrefix: name, points, duration: seconds }), points)
}

/** Counted in Redis, so by all processes together. Rejects when Redis is away. */
export function createSharedLimit(client: RedisClient, prefix: string, { name, points, seconds }: Options): RateLimit {
  return limit(
    new RateLimiterRedis({ storeClient: client, keyPrefix: `${prefix}:limit:${name}`, points, duration: seconds }),
    points
  )
}
