import { availableParallelism } from 'node:os'
import { hash, hashSync, verify } from '@node-rs/argon2'
import { MAX_PASSWORD_BYTES, MIN_PASSWORD_LENGTH } from '../../shared/contract/auth.ts'
import { AppError } from '../../shared/errors.ts'
import type { Metrics } from '../../shared/metrics.ts'
import { isCommonPassword } from './common-passwords.ts'
import { createTurns } from './turns.ts'

/** OWASP's floor: 19 MiB, two passes, one lane (8 ms on a small machine). Argon2id is the library's standard. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Hashes under way at once. They run on threads of their own and must leave a core to everything else. */
const CONCURRENT = Math.max(1, availableParallelism() - 1)
/** Hashes that may wait; beyond that the caller is told to come again. */
const MAX_WAITING = 200

export interface Passwords {
  /** May this become a password? @throws AppError validation_failed, password_too_short, password_too_common */
  judge(password: string, pointer?: string): void
  /** A hash to store. @throws AppError overloaded */
  hashNew(password: string): Promise<string>
  /** Takes as long for no account (`null`) as for a wrong password. @throws AppError overloaded */
  matches(password: string, stored: string | null): Promise<boolean>
  /** Was it made at another cost than new ones are? */
  isOutdated(stored: string): boolean
}

type Fault = 'validation_failed' | 'password_too_short' | 'password_too_common'

function fault(code: Fault, pointer: string, detail: string): AppError {
  return new AppError(code, {
    detail,
    errors: [{ pointer, code: code === 'validation_failed' ? 'too_long' : code, detail }]
  })
}

/** The same characters typed on different machines must be the same password: NFKC (NIST SP 800-63B). */
function normalize(password: string): string {
  return password.normalize('NFKC')
}

function judge(password: string, pointer: string): void {
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) {
    throw fault('validation_failed', pointer, `The password may have at most ${MAX_PASSWORD_BYTES} bytes.`)
  }
  if ([...password].length < MIN_PASSWORD_LENGTH) {
    throw fault(
      'password_too_short',
      pointer,
      `Use at least ${MIN_PASSWORD_LENGTH} characters; a few words make a good password.`
    )
  }
  if (isCommonPassword(password)) {
    throw fault('password_too_common', pointer, 'This password is one of the first that are tried; use another.')
  }
}

/** Reads the cost out of a hash in PHC form: `$argon2id$v=19$m=19456,t=2,p=1$salt$hash`. */
function isOutdated(stored: string): boolean {
  const { memoryCost, timeCost, parallelism } = COST
  return !stored.startsWith(`$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$`)
}

export function createPasswords(metrics: Metrics): Passwords {
  const turn = createTurns(CONCURRENT, MAX_WAITING)
  const hashes = metrics.counter('pulsegate_password_hashes_total')
  const count = <T>(work: () => Promise<T>) =>
    turn(() => {
      hashes.inc()
      return work()
    })
  // Made before it is needed, or the first unknown account of a process would take twice as long.
  const dummy = hashSync('there is no such account', COST)

  return {
    judge: (password, pointer = '/password') => judge(normalize(password), pointer),
    hashNew: (password) => count(() => hash(normalize(password), COST)),
    matches: async (password, stored) => {
      const normal = normalize(password)
      // Nobody has such a password; hashing it would only cost.
      if (Buffer.byteLength(normal) > MAX_PASSWORD_BYTES) return false
      const same = await count(() => verify(stored ?? dummy, normal))
      return same && stored !== null
    },
    isOutdated
  }
}
