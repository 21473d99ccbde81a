import type { Logger } from 'pino'
import { pino } from 'pino'

export type Log = Logger

/** Keys, JWTs, passwords in URLs and push tokens, wherever they stand in a text. */
const SECRETS = [
  /\bpg[as]_[0-9A-Za-z]{10,}/g,
  /\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*/g,
  /(?<=:\/\/[^\s:/@]*:)[^\s/@]+(?=@)/g,
  /(?<=\/(?:push|ping)\/)[\w-]{8,}/g
]

/** The same text with every secret replaced; log lines pass through it whole. */
export function redact(text: string): string {
  let clean = text
  for (const pattern of SECRETS) clean = clean.replace(pattern, '[redacted]')
  return clean
}

/** JSON lines on stdout, one per event. `level`: pino's names. */
export function createLog(process: string, level = 'info'): Log {
  return pino({
    name: process,
    level,
    base: { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: [
      'password',
      'apiKey',
      'token',
      'jwt',
      'authorization',
      'cookie',
      '*.password',
      '*.apiKey',
      '*.token',
      '*.authorization'
    ],
    hooks: { streamWrite: redact }
  })
}
