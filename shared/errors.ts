import { ERRORS, type ErrorCode, type ErrorEntry } from './protocol/errors.ts'

/** One field's fault inside a problem. */
export interface FieldFault {
  /** JSON Pointer into the body, or `?name` for a query parameter. */
  pointer: string
  code: string
  detail: string
}

interface Details {
  /** Public sentence: what is wrong and how to fix it. */
  detail?: string
  errors?: FieldFault[]
  /** Seconds after which trying again makes sense; becomes Retry-After. */
  retryAfterSeconds?: number
  /** Extra public members of the problem. */
  extra?: Readonly<Record<string, unknown>>
  cause?: unknown
}

/** The only thing thrown on purpose: a stable code of `shared/protocol/errors.ts` with its public words. */
export class AppError extends Error {
  override name = 'AppError'
  readonly code: ErrorCode
  readonly details: Details

  constructor(code: ErrorCode, details: Details = {}) {
    super(details.detail ?? ERRORS[code].title, { cause: details.cause })
    this.code = code
    this.details = details
  }

  get entry(): ErrorEntry {
    return ERRORS[this.code]
  }
}

/** RFC 9457 body. */
export interface Problem {
  type: string
  title: string
  status: number
  code: ErrorCode
  detail?: string
  instance?: string
  errors?: FieldFault[]
}

/** The public face of an error; whatever is not an AppError becomes `internal_error` and tells nothing of its inside. */
export function toProblem(error: unknown, requestId?: string): Problem {
  const known = error instanceof AppError ? error : new AppError('internal_error', { cause: error })
  const { status, title } = known.entry
  return {
    type: 'about:blank',
    title,
    status,
    code: known.code,
    ...(known.details.detail === undefined ? {} : { detail: known.details.detail }),
    ...(requestId === undefined ? {} : { instance: `urn:uuid:${requestId}` }),
    ...(known.details.errors === undefined ? {} : { errors: known.details.errors }),
    ...known.details.extra
  }
}

/** The two headers that every answer of every process carries (spec, "Authentication" 7). */
export const SECURITY_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "frame-ancestors 'none'"
} as const

export const PROBLEM_TYPE = 'application/problem+json'
