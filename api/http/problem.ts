import type { ServerResponse } from 'node:http'
import { isTransient, sqlState } from '../../shared/db.ts'
import { AppError, PROBLEM_TYPE, toProblem } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { yieldToRetryAfter } from './rate-limit-headers.ts'

function headersOf({ code, details }: AppError, credentialShown: boolean): Record<string, string> {
  const headers: Record<string, string> = {}
  if (details.retryAfterSeconds !== undefined) headers['Retry-After'] = String(details.retryAfterSeconds)
  else if (code === 'overloaded' || code === 'not_ready') headers['Retry-After'] = '5'
  // No `error` when no credential was sent (RFC 6750 §3.1).
  if (code === 'unauthorized') {
    headers['WWW-Authenticate'] = `Bearer realm="pulsegate"${credentialShown ? ', error="invalid_token"' : ''}`
  }
  if (code === 'insufficient_scope') {
    headers['WWW-Authenticate'] = 'Bearer realm="pulsegate", error="insufficient_scope"'
  }
  if (code === 'unsupported_media_type') headers['Accept-Post'] = 'application/json'
  return headers
}

interface Context {
  requestId: string
  log: Log
  credentialShown: boolean
}

/** Is PostgreSQL or Redis away or busy? Socket errors of both drivers carry a system code, and time-outs only words. */
function isStoreAway(error: unknown): boolean {
  if (sqlState(error) !== undefined) return isTransient(error)
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (typeof code === 'string' && /^E(CONN|PIPE|HOST|NET|TIMEDOUT|AI_)/.test(code)) return true
  return (
    typeof message === 'string' &&
    /timeout|Connection terminated|Stream isn't writeable|Connection is closed/.test(message)
  )
}

/** One of our codes for whatever was thrown; Express and its router throw as well, for a path that cannot be decoded. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const status = (error as { status?: unknown } | null)?.status
  if (typeof status === 'number' && status >= 400 && status < 500) return new AppError('bad_request', { cause: error })
  return new AppError(isStoreAway(error) ? 'not_ready' : 'internal_error', { cause: error })
}

/** The one place where an error becomes an HTTP answer (RFC 9457). */
export function sendProblem(
  response: ServerResponse,
  error: unknown,
  { requestId, log, credentialShown }: Context
): void {
  const fault = toAppError(error)
  if (fault.entry.status >= 500) log.error({ err: fault.cause ?? fault, code: fault.code }, 'a request failed')
  if (response.headersSent) {
    response.destroy()
    return
  }
  for (const [name, value] of Object.entries(headersOf(fault, credentialShown))) response.setHeader(name, value)
  if (response.hasHeader('Retry-After')) yieldToRetryAfter(response)
  const body = JSON.stringify(toProblem(fault, requestId))
  response.statusCode = fault.entry.status
  response.setHeader('Content-Type', PROBLEM_TYPE)
  response.setHeader('Content-Length', Buffer.byteLength(body))
  response.end(body)
}
