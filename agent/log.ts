import { pino } from 'pino'

/** What the agent's parts ask of a log. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Where lines go: stdout, or a test's list. */
export interface LogTarget {
  readonly isTTY?: boolean
  write(text: string): unknown
}

const API_KEY = /\bpg[as]_[0-9A-Za-z]{10,}/g
/** User and password of a monitor's target. */
const URL_PASSWORD = /(?<=:\/\/[^\s:/@]*:)[^\s/@]+(?=@)/g
// Names and messages come from outside: on a terminal they must not move the cursor or colour the next line.
const CONTROL = /\p{Cc}+/gu
const OWN_FIELDS = new Set(['level', 'time', 'msg'])

function redact(text: string): string {
  return text.replace(API_KEY, '[api key]').replace(URL_PASSWORD, '[redacted]')
}

/** `12:00:01 warn  the sentence  field=value`, for people. */
function readable(line: string): string {
  const event: Record<string, unknown> = JSON.parse(line)
  const level = event.level === 'info' ? '     ' : String(event.level).padEnd(5)
  const fields = Object.entries(event)
    .filter(([name]) => !OWN_FIELDS.has(name))
    .map(([name, value]) => `  ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const text = `${String(event.time).slice(11, 19)} ${level} ${event.msg ?? ''}${fields.join('')}`
  return `${text.replace(CONTROL, ' ')}\n`
}

/** JSON lines, or readable lines on a terminal; an API key never passes. `level`: pino's names. */
export function createLog(level: string, target: LogTarget): Log {
  const write = (line: string) => target.write(redact(target.isTTY ? readable(line) : line))
  return pino(
    {
      level,
      base: target.isTTY ? {} : { process: 'agent' },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: ['apiKey', '*.apiKey', 'authorization', '*.authorization']
    },
    { write }
  )
}
