import { randomBytes } from 'node:crypto'
import { createLog } from '../../shared/log.ts'
import { connectRedis, type RedisClient } from '../../shared/redis.ts'
import { storeUrl, type TearsDown } from './database.ts'

/** Deletes every key under a prefix. */
async function clear(client: RedisClient, prefix: string): Promise<void> {
  let cursor = '0'
  do {
    const [next, keys] = await client.scan(cursor, 'MATCH', `${prefix}:*`, 'COUNT', 1000)
    if (keys.length > 0) await client.unlink(...keys)
    cursor = next
  } while (cursor !== '0')
}

/** The run's Redis and a key prefix of the test's own, whose keys are deleted when the test ends. */
export function redisFor(t: TearsDown): { url: string; prefix: string } {
  const url = storeUrl('TEST_REDIS_URL')
  const prefix = `test_${randomBytes(6).toString('hex')}`
  t.teardown(async () => {
    const redis = await connectRedis({ url, log: createLog('test', 'warn'), whenAway: 'wait' })
    await clear(redis.client, prefix)
    await redis.stop()
  })
  return { url, prefix }
}
