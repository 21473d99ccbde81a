import type { RedisClient } from './redis.ts'

/**
 * Slows attempts down by key: some are free, then each one that fails doubles the wait for the next. Nobody is locked out
 * for good, so nobody can lock others out. Rejects when Redis is away.
 */
export interface BackOff {
  /**
   * Counts an attempt as failed before it is judged, so that attempts made at the same moment cannot pass together. Whole
   * seconds to wait, and then nothing was counted; 0 when it may be judged.
   */
  enter(key: string): Promise<number>
  /** The attempt did not fail: all is forgotten. */
  forget(key: string): Promise<void>
}

interface Options {
  client: RedisClient
  /** Of the stored key. */
  prefix: string
  name: string
  /** Failures before the first wait. */
  free: number
  /** Epoch ms. */
  clock: () => number
}

const FIRST_WAIT_MS = 30_000
const LONGEST_WAIT_MS = 15 * 60_000
/** So long after the last wait, or the last free failure, all is forgotten. */
const FORGET_MS = 15 * 60_000

// ARGV: now, free failures, first wait, longest wait, time until all is forgotten; milliseconds.
// `until` is when the next attempt may come. A clock that was set back makes nobody wait longer than the longest wait.
const ENTER = `
local now, free, first, longest, forget = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local stored = redis.call('hmget', KEYS[1], 'failed', 'until')
local failed, open = tonumber(stored[1] or '0'), tonumber(stored[2] or '0')
if now < open then return math.min(open - now, longest) end
if now - open >= forget then failed = 0 end
failed = failed + 1
local wait = 0
if failed >= free then wait = math.min(longest, first * 2 ^ (failed - free)) end
redis.call('hset', KEYS[1], 'failed', failed, 'until', string.format('%.0f', now + wait))
redis.call('pexpire', KEYS[1], string.format('%.0f', wait + forget))
return 0`

export function createBackOff({ client, prefix, name, free, clock }: Options): BackOff {
  const keyOf = (key: string) => `${prefix}:back-off:${name}:${key}`
  return {
    enter: async (key) => {
      const times = [FIRST_WAIT_MS, LONGEST_WAIT_MS, FORGET_MS]
      // The script's answer: milliseconds.
      const ms = (await client.eval(ENTER, 1, keyOf(key), Math.floor(clock()), free, ...times)) as number
      return Math.ceil(ms / 1000)
    },
    forget: async (key) => {
      await client.del(keyOf(key))
    }
  }
}
