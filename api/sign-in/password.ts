import { availableParallelism } from 'node:os'
import { hash, hashSync, verify } from '@node-rs/argon2'
import { MAX_PASSWORD_BYTES, MIN_PASSWORD_LENGTH } from '../../shared/contract/auth.ts'
import { AppError } from '../../shared/errors.ts'
import type { Metrics } from '../../shared/metrics.ts'
import { isCommonPassword } from './common-passwords.ts'

/** OWASP's floor: 19 MiB, two passes, one lane (8 ms on a small machine). Argon2id is the library's standard. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Hashes under way at once: they run on threads, and more of them than cores would only hold memory. */
const CONCURRENT = Math.max(2, availableParallelism())
/** Hashes that may wait; beyond that the caller is told to come again. */
const MAX_WAITING = 200

export interface Passwords {
  /** May this become a password? @throws AppError validation_failed, password_too_short, password_too_common */
  judge(password: string): void
  /** A hash to store. @throws AppError overloaded */
  hashNew(password: string): Promise<string>
  /** Takes as long for no account (`null`) as for a wrong password. @throws AppError overloaded */
  matches(password: string, stored: string | null): Promise<boolean>
}

function createTurns(concurrent: number) {
  const waiting: Array<() => void> = []
  let running = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= concurrent) {
      if (waiting.length >= MAX_WAITING) throw new AppError('overloaded', { retryAfterSeconds: 2 })
      // Whoever ends hands its place over, so `running` stays as it is.
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}

function fault(code: 'validation_failed' | 'password_too_short' | 'password_too_common', detail: string): AppError {
  return new AppError(code, {
    detail,
    errors: [{ pointer: '/password', code: code === 'validation_failed' ? 'too_long' : code, detail }]
  })
}

/** The same characters typed on different machines must be the same password: NFKC (NIST SP 800-63B). */
function normalize(password: string): string {
  return password.normalize('NFKC')
}

function judge(password: string): void {
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) {
    throw fault('validation_failed', `The password may have at most ${MAX_PASSWORD_BYTES} bytes.`)
  }
  if ([...password].length < MIN_PASSWORD_LENGTH) {
    throw fault(
      'password_too_short',
      `Use at least ${MIN_PASSWORD_LENGTH} characters; a few words make a good password.`
    )
  }
  if (isCommonPassword(password)) {
    throw fault('password_too_common', 'This password is one of the first that are tried; use another.')
  }
}

export function createPasswords(metrics: Metrics): Passwords {
  const turn = createTurns(CONCURRENT)
  const hashes = metrics.counter('pulsegate_password_hashes_total')
  const count = <T>(work: () => Promise<T>) =>
    turn(() => {
      hashes.inc()
      return work()
    })
  // Made before it is needed, or the first unknown account of a process would take twice as long.
  const dummy = hashSync('there is no such account', COST)

  return {
    judge: (password) => judge(normalize(password)),
    hashNew: (password) => count(() => hash(normalize(password), COST)),
    matches: async (password, stored) => {
      const normal = normalize(password)
      // Nobody has such a password; hashing it would only cost.
      if (Buffer.byteLength(normal) > MAX_PASSWORD_BYTES) return false
      const same = await count(() => verify(stored ?? dummy, normal))
      return same && stored !== null
    }
  }
}
