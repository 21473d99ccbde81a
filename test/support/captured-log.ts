import { createLog, type Log } from '../../shared/log.ts'

export interface CapturedLog {
  log: Log
  /** All lines so far. */
  text(): string
}

/** A log as the processes write it, into memory. */
export function captureLog(): CapturedLog {
  let text = ''
  const stream = {
    write: (line: string) => {
      text += line
    }
  }
  return { log: createLog('test', 'trace', stream), text: () => text }
}
