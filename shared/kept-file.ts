import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** The text of a file, undefined when there is none. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Writes `path` (mode 0600) whole: a reader sees the old text or the new one. */
export function replaceFile(path: string, text: string, mode = 0o600): void {
  const draft = draftOf(path)
  writeFileSync(draft, text, { mode, flag: 'wx', flush: true })
  renameSync(draft, path)
}

function draftOf(path: string): string {
  mkdirSync(dirname(path), { recursive: true })
  return `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
}

/**
 * Creates `path` with `text` (mode 0600) unless it exists; true when this call made it. The file appears whole or not
 * at all, and of two processes at once exactly one makes it.
 */
export function createOnce(path: string, text: string): boolean {
  const draft = draftOf(path)
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true })
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

/** The trimmed text of `path`, made by `make` the first time. Mode 0600. */
export function readOrCreate(path: string, make: () => string): string {
  const kept = readIfThere(path)
  if (kept !== undefined) return kept.trim()
  createOnce(path, `${make()}\n`)
  return readFileSync(path, 'utf8').trim()
}
