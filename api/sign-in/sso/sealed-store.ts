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
  const keyOf = (token: string) => `${redisPrefix}:${name}:${secrets.digest(token).toString('base64url')}`
  const open = (sealed: string | null, key: string): T | null => {
    if (sealed === null) return null
    const kept = JSON.parse(secrets.open(Buffer.from(sealed, 'base64'), key)) as { value: T; endsAt: number }
    return clock() < kept.endsAt ? kept.value : null
  }
  return {
    put: async (token, value) => {
      const key = keyOf(token)
      const sealed = secrets.seal(JSON.stringify({ value, endsAt: clock() + lifeMs }), key)
      await redis.client.set(key, sealed.toString('base64'), 'PX', lifeMs)
    },
    read: async (token) => open(await redis.client.get(keyOf(token)), keyOf(token)),
    take: async (token) => open(await redis.client.getdel(keyOf(token)), keyOf(token))
  }
}
