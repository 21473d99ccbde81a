import type { Database } from '../db.ts'
import type { Log } from '../log.ts'
import { noteApiKeysUsed } from '../store/api-keys.ts'

/**
 * Writes down when keys were last used: each at most once a minute, all of a few seconds in one statement, so that a key
 * that reports a thousand times a second costs what an idle one does. What is lost with a killed process is written again
 * with the next use.
 */
export interface KeyUse {
  /** The key was used just now. Cheap enough for every request. */
  note(keyId: string): void
  stop(): Promise<void>
}

interface Options {
  db: Database
  log: Log
  /** Epoch ms. */
  clock: () => number
}

/** As exact as `last_used_at` is, in milliseconds. */
const GRAIN_MS = 60_000
const WRITE_MS = 2000

export function createKeyUse({ db, log, clock }: Options): KeyUse {
  /** When each key of the last minute was noted. */
  const noted = new Map<string, number>()
  let due = new Set<string>()

  function note(keyId: string): void {
    const now = clock()
    const last = noted.get(keyId)
    if (last !== undefined && now - last < GRAIN_MS) return
    noted.set(keyId, now)
    due.add(keyId)
  }

  /** Those noted longer than a minute ago decide nothing any more. */
  function forget(): void {
    const now = clock()
    for (const [keyId, at] of noted) if (now - at >= GRAIN_MS && !due.has(keyId)) noted.delete(keyId)
  }

  async function write(): Promise<void> {
    forget()
    if (due.size === 0) return
    const uses = [...due].map((keyId) => ({ keyId, at: noted.get(keyId) ?? clock() }))
    due = new Set()
    try {
      await noteApiKeysUsed(db, uses)
    } catch (error) {
      log.warn({ err: error }, 'when keys were last used was not written; trying again')
      for (const { keyId } of uses) due.add(keyId)
    }
  }

  const timer = setInterval(() => void write(), WRITE_MS)
  return {
    note,
    stop: async () => {
      clearInterval(timer)
      await write()
    }
  }
}
