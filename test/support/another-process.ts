import { subscribeChanges } from '../../shared/changes.ts'
import { createCallers } from '../../shared/identity/callers.ts'
import { connectRedis } from '../../shared/redis.ts'
import type { TearsDown } from './database.ts'
import type { Stores } from './ingest.ts'

/**
 * The same stores as another process sees them: with a cache and a subscription of its own, so that it learns of changes
 * through Redis alone.
 */
export async function anotherProcess(t: TearsDown, stores: Stores): Promise<Stores> {
  const { db, secrets, redisUrl, prefix, log } = stores
  const subscriber = await connectRedis({ url: redisUrl, log, whenAway: 'wait' })
  const changes = await subscribeChanges({ subscriber, prefix, log })
  const callers = createCallers({ db, secrets, changes })
  t.teardown(async () => {
    callers.stop()
    await changes.stop()
    await subscriber.stop()
  })
  return { ...stores, changes, callers }
}
