import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { StartupError } from '../shared/env.ts'
import { createOnce, readIfThere } from '../shared/kept-file.ts'

/** The command line of a living process, or undefined. */
function commandLine(pid: number): string | undefined {
  return readIfThere(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ')
}

/**
 * Empties the folder for this process alone, and returns what gives it back. A folder whose bench was killed is taken over.
 * @throws StartupError while another bench runs: two at once would measure each other.
 */
export function claimFolder(dir: string): () => void {
  const claim = `${dir}.pid`
  const holder = Number(readIfThere(claim))
  if (holder > 0 && commandLine(holder)?.includes(join('bench', 'main.'))) {
    throw new StartupError(`Another bench is running (pid ${holder}); two at once would measure each other.`)
  }
  rmSync(claim, { force: true })
  if (!createOnce(claim, String(process.pid))) throw new StartupError('Another bench started at this very moment.')
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir, { recursive: true, mode: 0o711 })
  return () => {
    rmSync(dir, { recursive: true, force: true })
    if (readFileSync(claim, 'utf8') === String(process.pid)) rmSync(claim)
  }
}
