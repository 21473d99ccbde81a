import { join } from 'node:path'
import { readIfThere, replaceFile } from '../shared/kept-file.ts'
import { endLeftover, startMark } from './process-identity.ts'
import type { Say } from './say.ts'

interface Entry {
  name: string
  pid: number
  mark: string
}

/** Which processes run, kept in the data folder so that the next start can end those of a killed supervisor. */
export interface Register {
  add(name: string, pid: number): void
}

// One file a process: two that start at once must not overwrite each other's line.
function fileOf(dataDir: string, name: string): string {
  return join(dataDir, 'run', `${name}.json`)
}

export function createRegister(dataDir: string): Register {
  return {
    add: (name, pid) => replaceFile(fileOf(dataDir, name), JSON.stringify({ name, pid, mark: startMark(pid) ?? '' }))
  }
}

function entryOf(dataDir: string, name: string): Entry | undefined {
  const text = readIfThere(fileOf(dataDir, name))
  return text === undefined ? undefined : (JSON.parse(text) as Entry)
}

/** They saw their pipe close and are on their way out: they hold ports until then. */
const GRACE_MS = 6_000

/** Ends the processes `names` that a supervisor which was killed has left behind; those still stopping get their time. */
export async function endLeftovers(dataDir: string, names: readonly string[], say: Say): Promise<void> {
  await Promise.all(
    names.map(async (name) => {
      const entry = entryOf(dataDir, name)
      if (entry === undefined || startMark(entry.pid) !== entry.mark) return
      say.line('warn', `ending the ${name} (process ${entry.pid}) that an earlier start left behind`)
      await endLeftover(entry.pid, 'SIGTERM', GRACE_MS)
    })
  )
}
