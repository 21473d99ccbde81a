import { type Change, publishChange } from '../../shared/changes.ts'
import type { Parts } from '../parts.ts'

/**
 * Tells all processes of a committed change, before the answer goes out. With Redis away the change stands all the same:
 * every subscriber has lost Redis as well and doubts everything when it returns (`resync`).
 */
export async function announceChanges(
  { redis, redisPrefix, log }: Parts,
  changes: Array<Exclude<Change, { type: 'resync' }>>
): Promise<void> {
  try {
    for (const change of changes) await publishChange(redis.client, redisPrefix, change)
  } catch (error) {
    log.warn({ err: error }, 'a change could not be announced')
  }
}
