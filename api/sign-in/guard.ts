import { AppError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { networkOf } from '../../shared/network.ts'
import { type Asked, createLimits } from '../http/limits.ts'
import { requireQuota } from '../http/rate-limit-headers.ts'
import type { Parts } from '../parts.ts'
import { accountKey } from './limits.ts'

/** What stands before everything that a stranger may try: passwords, links, tokens. */
export interface Guard {
  /**
   * Counts an attempt to show a password as failed before it is judged; `passed` takes that back.
   * @throws AppError rate_limited, alike for known and unknown accounts.
   */
  enter(email: string, address: string): Promise<void>
  /** The attempt was good: the failed ones of the account are forgotten. */
  passed(email: string, address: string): Promise<void>
  /** The failed attempts of the account are forgotten: its person has a new password. */
  forgive(email: string): Promise<void>
  /** Counts a use of what may be guessed or abused, by network. @throws AppError rate_limited */
  ask(what: Asked, address: string): void
}

/** Limits fail open: when Redis is away people must still be able to sign in. */
async function orElse<T>(log: Log, work: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await work
  } catch (error) {
    log.warn({ err: error }, 'sign-in limits cannot be counted')
    return otherwise
  }
}

function requirePatience(seconds: number): void {
  if (seconds <= 0) return
  throw new AppError('rate_limited', { detail: `Try again in ${seconds} s.`, retryAfterSeconds: seconds })
}

export function createGuard({ signInLimits, counts, rateLimitScale, secrets, log }: Parts): Guard {
  const { account, network } = signInLimits
  const { asked } = createLimits(counts, rateLimitScale)
  const giveBack = (address: string) => orElse(log, network.giveBack(networkOf(address)), undefined)
  return {
    enter: async (email, address) => {
      const crowd = await orElse(log, network.take(networkOf(address)), 0)
      const wait = crowd > 0 ? crowd : await orElse(log, account.enter(accountKey(secrets, email)), 0)
      // Nothing was tried. Neither one impatient person nor a rush of good sign-ins must use up what everybody behind this
      // address has.
      if (wait > 0) await giveBack(address)
      requirePatience(wait)
    },
    passed: async (email, address) => {
      await Promise.all([orElse(log, account.forget(accountKey(secrets, email)), undefined), giveBack(address)])
    },
    forgive: (email) => orElse(log, account.forget(accountKey(secrets, email)), undefined),
    ask: (what, address) => requireQuota(asked[what].take(networkOf(address)))
  }
}
