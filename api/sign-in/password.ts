import { MAX_PASSWORD_BYTES, MIN_PASSWORD_LENGTH } from '../../shared/contract/auth.ts'
import { AppError } from '../../shared/errors.ts'
import type { Metrics } from '../../shared/metrics.ts'
import { isCommonPassword } from './common-passwords.ts'
import { COST } from './hash-cost.ts'
import type { HashTask } from './hash-thread.ts'
import { createHashThreads } from './hash-threads.ts'

export interface Passwords {
  /** May this become a password? @throws AppError validation_failed, password_too_short, password_too_common */
  judge(password: string, pointer?: string): void
  /** A hash to store. @throws AppError overloaded */
  hashNew(password: string): Promise<string>
  /** Takes as long for no account (`null`) as for a wrong password. @throws AppError overloaded */
  matches(password: string, stored: string | null): Promise<boolean>
  /** Was it made at another cost than new ones are? */
  isOutdated(stored: string): boolean
  stop(): Promise<void>
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
  const threads = createHashThreads()
  const hashes = metrics.counter('pulsegate_password_hashes_total')
  const run = async (task: HashTask) => {
    const done = await threads.run(task)
    hashes.inc()
    return done
  }

  return {
    judge: (password, pointer = '/password') => judge(normalize(password), pointer),
    hashNew: async (password) => String(await run({ kind: 'hash', password: normalize(password) })),
    matches: async (password, stored) => {
      const normal = normalize(password)
      // Nobody has such a password; hashing it would only cost.
      if (Buffer.byteLength(normal) > MAX_PASSWORD_BYTES) return false
      return (await run({ kind: 'verify', password: normal, stored })) === true
    },
    isOutdated,
    stop: () => threads.stop()
  }
}
