import type { RedisConnection } from '../../../shared/redis.ts'
import type { Secrets } from '../../../shared/secrets.ts'

/**
 * Values that wait in Redis for a short while, by a token that nobody can guess. Key and value are sealed by
 * `SECRETS_KEY`: who reads there learns neither.
 */
export interface SealedStore<T> {
  put(token: string, value: T): Promise<void>
  /** Null: unknown, taken or too old. */
  read(token: string): Promise<T | null>
  /** The same, and whatever comes of it, it is gone: of two at once one gets it. */
  take(token: string): Promise<T | null>
}

export interface SealedStoreParts {
  redis: RedisConnection
  redisPrefix: string
  secrets: Secrets
  clock: () => number
}

export function createSealedStore<T>(
  { redis, redisPrefix, secrets, clock }: SealedStoreParts,
  { name, lifeMs }: { name: string; lifeMs: number }
): SealedStore<T> {
  const keyOf = (digest: Buffer) => `${redisPrefix}:${name}:${digest.toString('base64url')}`
  const open = async (token: string, get: (key: string) => Promise<string | null>): Promise<T | null> => {
    const found = await secrets.find(token, async (digest) => (await get(keyOf(digest))) ?? undefined)
    if (found === undefined) return null
    const text = secrets.open(Buffer.from(found.row, 'base64'), keyOf(found.digest))
    const kept = JSON.parse(text) as { value: T; endsAt: number }
    return clock() < kept.endsAt ? kept.value : null
  }
  return {
    put: async (token, value) => {
      const key = keyOf(secrets.digest(token))
      const sealed = secrets.seal(JSON.stringify({ value, endsAt: clock() + lifeMs }), key)
      await redis.client.set(key, sealed.toString('base64'), 'PX', lifeMs)
    },
    read: (token) => open(token, (key) => redis.client.get(key)),
    take: (token) => open(token, (key) => redis.client.getdel(key))
  }
}
