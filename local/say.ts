import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { redact } from '../shared/log.ts'
import { type LogFile, openLogFile } from './log-file.ts'

export type Level = 'info' | 'warn' | 'error'

/** The supervisor's voice: readable lines for the person at the terminal, everything in files. */
export interface Say {
  /** A line of the supervisor's own, shown and kept. */
  line(level: Level, text: string): void
  /** What a process said: warnings and worse are shown, all is kept in its own file. */
  process(name: string): ProcessSay
}

export interface ProcessSay {
  /** One line of output: JSON by pino, or anything. */
  output(line: string): void
  /** One line whose level is already known. */
  known(level: Level, text: string): void
}

const SHOWN = /"level":"(warn|error|fatal)"/
const COLORS = { info: '', warn: '\u001b[33m', error: '\u001b[31m' }

interface PinoLine {
  level: string
  msg?: string
  err?: { message?: string }
}

interface Shown {
  level: Level
  text: string
}

function shownOfJson(line: string): Shown | undefined {
  if (!SHOWN.test(line)) return undefined
  try {
    const { level, msg = '', err } = JSON.parse(line) as PinoLine
    const text = err?.message === undefined ? msg : `${msg}: ${err.message}`
    return { level: level === 'warn' ? 'warn' : 'error', text }
  } catch {
    // A line that only looks like one of pino's, cut short by a crash: shown as it is.
    return { level: 'error', text: line }
  }
}

/** What of a process's output the person at the terminal sees. */
function shownOf(line: string): Shown | undefined {
  if (line.startsWith('{')) return shownOfJson(line)
  // What is not JSON comes from Node itself: a warning, or a stack whose further lines are for the file.
  return /^[\s}]/.test(line) ? undefined : { level: 'warn', text: line }
}

/** `logsDir` gets one file a process, `terminal` the readable lines. */
export function createSay(logsDir: string, terminal: Writable & { isTTY?: boolean }): Say {
  const files = new Map<string, LogFile>()
  const fileOf = (name: string) => {
    const file = files.get(name) ?? openLogFile(join(logsDir, `${name}.log`))
    files.set(name, file)
    return file
  }
  const show = (name: string, level: Level, text: string) => {
    const color = terminal.isTTY ? COLORS[level] : ''
    const mark = level === 'info' ? '' : `${level}: `
    const time = new Date().toTimeString().slice(0, 8)
    terminal.write(`${time} ${name.padEnd(13)} ${color}${redact(`${mark}${text}`)}${color && '\u001b[0m'}\n`)
  }
  return {
    line: (level, text) => {
      show('pulsegate', level, text)
      fileOf('supervisor').write(`${new Date().toISOString()} ${level} ${redact(text)}`)
    },
    process: (name) => {
      const file = fileOf(name)
      return {
        output: (line) => {
          file.write(line)
          const shown = shownOf(line)
          if (shown !== undefined) show(`${name}/main`, shown.level, shown.text)
        },
        known: (level, text) => {
          file.write(text)
          if (level !== 'info') show(name, level, text)
        }
      }
    }
  }
}
