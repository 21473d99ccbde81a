import { setTimeout as wait } from 'node:timers/promises'
import { type Change, publishChange } from '../../shared/changes.ts'
import type { Parts } from '../parts.ts'

type Announcement = Exclude<Change, { type: 'resync' }>

/** Waits before it is tried again, in milliseconds. What is lost after that, caches and gateways find by themselves. */
const RETRY_MS = [1000, 5000, 20_000]

async function tryAgain({ redis, redisPrefix, log }: Parts, changes: readonly Announcement[]): Promise<void> {
  for (const ms of RETRY_MS) {
    await wait(ms, undefined, { ref: false })
    try {
      for (const change of changes) await publishChange(redis.client, redisPrefix, change)
      return
    } catch (error) {
      log.warn({ err: error }, 'a change could not be announced')
    }
  }
}

/**
 * Tells all processes of a committed change, before the answer goes out. The change stands even when that fails; then it is
 * told as soon as Redis is back.
 */
export async function announceChanges(parts: Parts, changes: readonly Announcement[]): Promise<void> {
  for (const change of changes) parts.callers.hear(change)
  try {
    for (const change of changes) await publishChange(parts.redis.client, parts.redisPrefix, change)
  } catch (error) {
    parts.log.warn({ err: error }, 'a change could not be announced; trying again')
    void tryAgain(parts, changes)
  }
}
