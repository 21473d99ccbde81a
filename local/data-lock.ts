import { randomBytes } from 'node:crypto'
import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { StartupError } from '../shared/env.ts'
import { createOnce, readIfThere } from '../shared/kept-file.ts'
import { startMark } from './process-identity.ts'

interface Holder {
  pid: number
  /** Tells the holder from a later process with the same pid. */
  mark: string
}

export interface DataLock {
  release(): void
}

function holderOf(text: string): Holder | undefined {
  try {
    const { pid, mark } = JSON.parse(text) as Partial<Holder>
    return typeof pid === 'number' && typeof mark === 'string' ? { pid, mark } : undefined
  } catch {
    // Not ours or cut short by a full disk: nobody can hold the folder by it.
    return undefined
  }
}

function livingHolder(text: string): number | undefined {
  const holder = holderOf(text)
  return holder !== undefined && startMark(holder.pid) === holder.mark ? holder.pid : undefined
}

// Between reading a dead holder's lock and moving it away another start may have taken it over: then it is put back.
function moveAway(file: string, seen: string): void {
  const aside = `${file}.${randomBytes(4).toString('hex')}`
  try {
    renameSync(file, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  const moved = readIfThere(aside) ?? ''
  if (moved !== seen) createOnce(file, moved)
  rmSync(aside, { force: true })
}

/**
 * Takes a data folder for this process. A dead holder's lock is taken over, also when its pid now belongs to another
 * process. Throws StartupError naming the pid when the folder is in use.
 */
export function lockDataDir(dataDir: string): DataLock {
  const file = join(dataDir, 'supervisor.lock')
  const mine = JSON.stringify({ pid: process.pid, mark: startMark(process.pid) ?? '' })
  for (let tries = 0; tries < 5; tries += 1) {
    if (createOnce(file, mine)) {
      return {
        release: () => {
          if (readIfThere(file) === mine) rmSync(file, { force: true })
        }
      }
    }
    const text = readIfThere(file)
    if (text === undefined) continue
    const pid = livingHolder(text)
    if (pid !== undefined) {
      throw new StartupError(
        `Pulsegate already runs on ${dataDir} (process ${pid}): stop that one first, or set DATA_DIR to another folder.`
      )
    }
    moveAway(file, text)
  }
  throw new StartupError(`The lock ${file} keeps changing hands: another start is under way. Try again in a moment.`)
}
