import type { DestinationStream, Logger } from 'pino'
import { pino } from 'pino'

export type Log = Logger

/** Keys, tokens of ours, JWTs, passwords in URLs and push tokens, wherever they stand in a text. */
const SECRETS = [
  /\bpg[a-z]_[0-9A-Za-z]{10,}/g,
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

/** A chain of causes may be a circle. */
const MOST_CAUSES = 5

/**
 * What the log keeps of an error. Only what is named here: libraries hang on their errors whatever was at hand, ioredis a
 * command with its arguments (passwords, scripts, job data), pg the values of a row.
 */
export function describeError(error: unknown, causesLeft = MOST_CAUSES): object {
  if (!(error instanceof Error)) {
    const isObject = typeof error === 'object' || typeof error === 'function'
    return { type: typeof error, message: isObject ? Object.prototype.toString.call(error) : String(error) }
  }
  const { name, message, stack, cause } = error
  const { code } = error as { code?: unknown }
  const deeper = (inner: unknown) => describeError(inner, causesLeft - 1)
  return {
    // pg calls all of its errors 'error', and a class need not name its own.
    type: name.toLowerCase() === 'error' ? error.constructor.name : name,
    message,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    stack,
    ...(cause === undefined || causesLeft === 0 ? {} : { cause: deeper(cause) }),
    // Node's refused connections to a host of several addresses: the message is empty, the causes are here.
    ...(error instanceof AggregateError && causesLeft > 0 ? { errors: error.errors.map(deeper) } : {})
  }
}

/** JSON lines, one per event, on stdout unless `stream` is given. `level`: pino's names. */
export function createLog(process: string, level = 'info', stream: DestinationStream = pino.destination(1)): Log {
  const options = {
    name: process,
    level,
    base: { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: (error: unknown) => describeError(error) },
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
  }
  return pino(options, stream)
}
