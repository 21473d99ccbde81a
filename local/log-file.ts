import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const MAX_BYTES = 10 * 1024 * 1024

export interface LogFile {
  write(line: string): void
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/**
 * A log file of at most 10 MB with two older ones beside it (`.1`, `.2`). A line is with the operating system when
 * `write` returns, so that the last words of a crash are kept.
 */
export function openLogFile(path: string): LogFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  let size = sizeOf(path)
  const rotate = () => {
    if (sizeOf(`${path}.1`) > 0) renameSync(`${path}.1`, `${path}.2`)
    renameSync(path, `${path}.1`)
    size = 0
  }
  return {
    write: (line) => {
      const text = `${line}\n`
      if (size > 0 && size + text.length > MAX_BYTES) rotate()
      appendFileSync(path, text, { mode: 0o600 })
      size += Buffer.byteLength(text)
    }
  }
}
