import { createBackOff } from '../../shared/back-off.ts'
import { createSharedLimit } from '../../shared/rate-limit.ts'
import type { RedisClient } from '../../shared/redis.ts'
import type { Secrets } from '../../shared/secrets.ts'
import type { SignInLimits } from '../parts.ts'

interface Options {
  client: RedisClient
  prefix: string
  scale: number
  clock: () => number
}

/** By what the failures of an account are counted: nobody reads addresses in Redis. */
export function accountKey(secrets: Secrets, email: string): string {
  return secrets.digest(email).toString('base64url')
}

/**
 * Failed sign-ins, counted by all processes together: 5 of an account are free, then each doubles the wait from 30 s to
 * 15 min; 30 of a network in 15 min. The numbers of them are times `scale`.
 */
export function createSignInLimits({ client, prefix, scale, clock }: Options): SignInLimits {
  return {
    account: createBackOff({ client, prefix, name: 'account', free: Math.ceil(5 * scale), clock }),
    network: createSharedLimit(client, prefix, { name: 'network', points: Math.ceil(30 * scale), seconds: 15 * 60 })
  }
}
