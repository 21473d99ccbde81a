import type { CountedLimit } from '../shared/counts.ts'
import { AppError, PROBLEM_TYPE, SECURITY_HEADERS, toProblem } from '../shared/errors.ts'
import { type Caller, mayReport } from '../shared/identity/caller.ts'
import type { Callers } from '../shared/identity/callers.ts'
import type { Log } from '../shared/log.ts'
import { networkOf } from '../shared/network.ts'
import type { ErrorCode } from '../shared/protocol/errors.ts'
import { SUBPROTOCOL } from '../shared/protocol/frames.ts'
import type { CorkHolder } from './cork-holder.ts'
import type { HttpRequest, HttpResponse, us_socket_context_t } from './uws.ts'

/** Who may open a socket; decided before the socket exists. */
export interface Admitted {
  caller: Caller
  keyDigest: string
  /** What the client offered of ours: the subprotocol, or '' when it offered none. */
  subprotocol: string
}

export interface UpgradeDeps {
  callers: Callers
  refusals: CountedLimit
  /** Behind a trusted proxy the peer's address is the last one of X-Forwarded-For. */
  behindProxy: boolean
  log: Log
  /** Why this caller may not open another socket now, or null. */
  refuseSocket(caller: Caller): ErrorCode | null
  onRefused(code: ErrorCode): void
  corkHolder: CorkHolder
}

/** Everything the handshake needs, copied out: the request object is gone after the first await. */
interface Handshake {
  path: string
  authorization: string
  key: string
  version: string
  protocols: string
  extensions: string
  address: string
}

const STATUS_TEXT: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  426: 'Upgrade Required',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable'
}

function headersFor(code: ErrorCode, error: AppError): Array<[string, string]> {
  const headers: Array<[string, string]> = [...Object.entries(SECURITY_HEADERS), ['Content-Type', PROBLEM_TYPE]]
  if (code === 'unauthorized') headers.push(['WWW-Authenticate', 'Bearer realm="pulsegate"'])
  if (code === 'upgrade_required') headers.push(['Sec-WebSocket-Version', '13'], ['Upgrade', 'websocket'])
  if (code === 'method_not_allowed') headers.push(['Allow', 'GET'])
  const after = error.details.retryAfterSeconds
  if (after !== undefined) headers.push(['Retry-After', String(after)])
  return headers
}

/** Answers plain HTTP with a problem. The response must still be open. */
export function refuse(res: HttpResponse, error: AppError): void {
  const problem = toProblem(error)
  res.cork(() => {
    res.writeStatus(`${problem.status} ${STATUS_TEXT[problem.status] ?? 'Error'}`)
    for (const [name, value] of headersFor(error.code, error)) res.writeHeader(name, value)
    // The connection has no further use, and a refused client must not hold it.
    res.end(JSON.stringify(problem), true)
  })
}

function readHandshake(req: HttpRequest, res: HttpResponse, behindProxy: boolean): Handshake {
  const forwarded = behindProxy ? req.getHeader('x-forwarded-for').split(',').at(-1)?.trim() : ''
  return {
    path: req.getUrl(),
    authorization: req.getHeader('authorization'),
    key: req.getHeader('sec-websocket-key'),
    version: req.getHeader('sec-websocket-version'),
    protocols: req.getHeader('sec-websocket-protocol'),
    extensions: req.getHeader('sec-websocket-extensions'),
    address: forwarded || Buffer.from(res.getRemoteAddressAsText()).toString()
  }
}

/** The subprotocol to answer with. @throws AppError when only unknown ones are offered. */
function chooseSubprotocol(offered: string): string {
  if (offered === '') return ''
  const names = offered.split(',').map((name) => name.trim())
  if (names.includes(SUBPROTOCOL)) return SUBPROTOCOL
  throw new AppError('unsupported_subprotocol', { detail: `Offer "${SUBPROTOCOL}", or none.` })
}

async function admit(handshake: Handshake, deps: UpgradeDeps): Promise<Admitted> {
  if (handshake.path !== '/') throw new AppError('not_found')
  if (handshake.version !== '13') throw new AppError('upgrade_required')
  const subprotocol = chooseSubprotocol(handshake.protocols)
  const { refused, secondsLeft } = deps.refusals.look(networkOf(handshake.address))
  if (refused) throw new AppError('rate_limited', { retryAfterSeconds: secondsLeft })
  const apiKey = /^Bearer +(\S+)$/i.exec(handshake.authorization)?.[1] ?? ''
  const keyDigest = deps.callers.digestOf(apiKey)
  const caller = keyDigest === null ? null : await deps.callers.byDigest(keyDigest)
  if (caller === null || keyDigest === null) {
    throw new AppError('unauthorized', { detail: 'Send a valid API key as "Authorization: Bearer <API_KEY>".' })
  }
  if (caller.suspended) throw new AppError('organization_suspended')
  if (!mayReport(caller)) {
    throw new AppError('insufficient_scope', { detail: 'The key needs the scope heartbeats:write.' })
  }
  const refusal = deps.refuseSocket(caller)
  if (refusal !== null) throw new AppError(refusal, { retryAfterSeconds: 60 })
  return { caller, keyDigest, subprotocol }
}

function toAppError(error: unknown, log: Log): AppError {
  if (error instanceof AppError) return error
  log.error({ err: error }, 'an upgrade could not be decided')
  return new AppError('overloaded', { cause: error, retryAfterSeconds: 5 })
}

/**
 * Decides an upgrade. Nothing may throw out of here: an exception in an HTTP handler of uWebSockets.js ends the
 * process, and answering after the client left throws too.
 */
export function handleUpgrade<Session>(
  res: HttpResponse,
  req: HttpRequest,
  context: us_socket_context_t,
  deps: UpgradeDeps,
  createSession: (admitted: Admitted) => Session
): void {
  let aborted = false
  res.onAborted(() => {
    aborted = true
  })
  const handshake = readHandshake(req, res, deps.behindProxy)
  admit(handshake, deps)
    .then((admitted) => {
      if (aborted) return
      res.cork(() => {
        res.writeStatus('101 Switching Protocols')
        for (const [name, value] of Object.entries(SECURITY_HEADERS)) res.writeHeader(name, value)
      })
      deps.corkHolder.run(() => {
        res.upgrade(createSession(admitted), handshake.key, admitted.subprotocol, handshake.extensions, context)
      })
    })
    .catch((cause) => {
      const error = toAppError(cause, deps.log)
      deps.onRefused(error.code)
      if (!aborted) refuse(res, error)
      // Only the client's own faults count against its address.
      if (!error.entry.temporary) deps.refusals.take(networkOf(handshake.address))
    })
    .catch((error) => deps.log.error({ err: error }, 'an upgrade could not be answered'))
}
