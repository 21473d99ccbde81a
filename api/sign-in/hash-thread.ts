import { getPriority, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { hashSync, verifySync } from '@node-rs/argon2'
import { COST } from './hash-cost.ts'

/** What a hashing thread is asked for. */
export type HashTask =
  | { kind: 'hash'; password: string }
  /** `stored`: the hash to compare with; null where there is no account. */
  | { kind: 'verify'; password: string; stored: string | null }

/** A hash, whether the password is the right one, or why neither could be told. */
export type HashAnswer = { done: string | boolean } | { fault: string }

/** A tenth of the weight of the other threads: little beside them, and never nothing. */
const NICENESS = 10

// Made before it is needed, or the first unknown account of a thread would take twice as long.
const dummy = hashSync('there is no such account', COST)

function verify(password: string, stored: string | null): boolean {
  // Always, so that no account takes as long as a wrong password.
  const same = verifySync(stored ?? dummy, password)
  return same && stored !== null
}

function answer(task: HashTask): HashAnswer {
  try {
    return { done: task.kind === 'hash' ? hashSync(task.password, COST) : verify(task.password, task.stored) }
  } catch (error) {
    return { fault: String(error) }
  }
}

// Linux alone knows priorities of threads; elsewhere the whole process would yield to everything. One that is lower already
// may not be raised.
if (process.platform === 'linux' && getPriority() < NICENESS) setPriority(NICENESS)
parentPort?.on('message', (task: HashTask) => parentPort?.postMessage(answer(task)))
