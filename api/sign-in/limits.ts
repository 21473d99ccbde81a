import { createSharedLimit } from '../../shared/rate-limit.ts'
import type { RedisClient } from '../../shared/redis.ts'
import type { SignInLimits } from '../parts.ts'

const WINDOW_SECONDS = 15 * 60

/** Failed sign-ins in 15 minutes: 5 per account, 30 per address, times `scale`; counted by all processes together. */
export function createSignInLimits(client: RedisClient, prefix: string, scale: number): SignInLimits {
  return {
    account: createSharedLimit(client, prefix, {
      name: 'account',
      points: Math.ceil(5 * scale),
      seconds: WINDOW_SECONDS
    }),
    address: createSharedLimit(client, prefix, {
      name: 'address',
      points: Math.ceil(30 * scale),
      seconds: WINDOW_SECONDS
    })
  }
}
