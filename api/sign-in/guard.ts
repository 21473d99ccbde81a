import { AppError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Parts } from '../parts.ts'
import { networkOf } from './network.ts'

/** Limits fail open: when Redis is away people must still be able to sign in. */
async function orElse<T>(log: Log, work: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await work
  } catch (error) {
    log.warn({ err: error }, 'sign-in limits cannot be counted')
    return otherwise
  }
}

/** Counts attempts to sign in, by account and by network. */
export function createGuard({ signInLimits, secrets, log }: Parts) {
  const accountKey = (email: string) => secrets.digest(email).toString('base64url')
  return {
    /** Counts an attempt before it is judged. @throws AppError rate_limited, alike for known and unknown accounts. */
    enter: async (email: string, address: string): Promise<void> => {
      const seconds = await Promise.all([
        orElse(log, signInLimits.account.take(accountKey(email)), 0),
        orElse(log, signInLimits.address.take(networkOf(address)), 0)
      ])
      const wait = Math.max(...seconds)
      if (wait > 0) throw new AppError('rate_limited', { detail: `Try again in ${wait} s.`, retryAfterSeconds: wait })
    },
    /** The attempt was good, so it does not count. */
    passed: async (email: string, address: string): Promise<void> => {
      await Promise.all([
        orElse(log, signInLimits.account.forget(accountKey(email)), undefined),
        orElse(log, signInLimits.address.giveBack(networkOf(address)), undefined)
      ])
    }
  }
}
