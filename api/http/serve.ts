import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request } from 'express'
import { BODY_LIMIT, type Route } from '../../shared/contract/route.ts'
import type { Standing } from '../../shared/counts.ts'
import type { Log } from '../../shared/log.ts'
import { networkOf, readableAddress } from '../../shared/network.ts'
import { type Authenticate, authorize, type Principal, requireRecent } from './authenticate.ts'
import { requireOwnSite } from './cross-site.ts'
import type { Limits } from './limits.ts'
import { rateLimitHeaders, requireQuota } from './rate-limit-headers.ts'
import { hasBody, readJson } from './read-body.ts'
import { checkBody, checkParams, checkQuery } from './validate.ts'

/** A `Call` and a `Reply` of whatever route. */
interface AnyCall {
  params: unknown
  query: unknown
  body: unknown
  principal: Principal | undefined
  request: Request
  address: string
  requestId: string
  log: Log
}
interface AnyReply {
  status: number
  headers?: Readonly<Record<string, string | readonly string[]>>
  body?: unknown
  text?: string
  stream?: AsyncIterable<string>
}

/** What stands before every route that is not for everybody. */
export interface Gate {
  authenticate: Authenticate
  limits: Limits
  /** Of the dashboard's pages. */
  appOrigin: string
  clock: () => number
}

interface Exchange {
  request: Request
  response: ServerResponse
  requestId: string
  log: Log
  gate: Gate
}

export type AnyHandler = (call: AnyCall) => Promise<AnyReply> | AnyReply

/** The same whatever credential is shown. */
function callerId(principal: Principal): string {
  return principal.kind === 'user' ? principal.userId : principal.caller.sourceId
}

/** Counts a request to its limits, one after another, and tells the client where it stands. */
function createTally(response: ServerResponse) {
  const standings: Standing[] = []
  /** @throws AppError rate_limited */
  return (standing: Standing): void => {
    standings.push(standing)
    for (const [name, value] of Object.entries(rateLimitHeaders(standings))) response.setHeader(name, value)
    requireQuota(standing)
  }
}

/**
 * A network is counted before anything is looked up for it; a caller only by what it really shows, so that nobody can use
 * up another's quota. @throws AppError unauthorized, organization_suspended, rate_limited, cross_site, forbidden, insufficient_scope
 */
async function admit(route: Route, { request, response, gate }: Exchange): Promise<Principal | undefined> {
  const { authenticate, limits, appOrigin, clock } = gate
  const tally = createTally(response)
  if (route.counted === undefined) tally(limits.network.take(networkOf(request.ip ?? '')))
  requireOwnSite(route, request, appOrigin)
  if (route.auth === 'none') return undefined
  const principal = await authenticate(request.headers)
  tally(limits.caller.take(callerId(principal)))
  tally(limits.organization.take(principal.organizationId))
  authorize(principal, route.auth)
  if (route.recent) requireRecent(principal, clock())
  return principal
}

async function readCall(route: Route, exchange: Exchange): Promise<AnyCall> {
  const { request, requestId, log } = exchange
  const principal = await admit(route, exchange)
  const params = route.params === undefined ? undefined : checkParams(route.params, request.params)
  const query = route.query === undefined ? undefined : checkQuery(route.query, { ...request.query })
  let body: unknown
  if (route.body !== undefined) {
    const nothing = route.bodyOptional === true && !hasBody(request)
    body = nothing ? {} : await readJson(request, route.bodyLimit ?? BODY_LIMIT)
    if (!route.itemwise) body = checkBody(route.body, body)
  }
  return { params, query, body, principal, request, address: readableAddress(request.ip ?? ''), requestId, log }
}

function send(response: ServerResponse, route: Route, reply: AnyReply): void {
  response.statusCode = reply.status
  const isText = reply.text !== undefined || typeof reply.body === 'string'
  const content = isText ? (reply.text ?? reply.body) : reply.body === undefined ? '' : JSON.stringify(reply.body)
  if (reply.status !== 204) {
    const jsonType = route.answers[reply.status]?.contentType ?? 'application/json; charset=utf-8'
    response.setHeader('Content-Type', reply.text === undefined ? jsonType : 'text/plain; charset=utf-8')
    response.setHeader('Content-Length', Buffer.byteLength(String(content)))
  }
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value)
  response.end(content)
}

/** Sends the parts as fast as the client takes them. A client that leaves ends the stream where it is. */
async function sendStream({ request, response, log }: Exchange, reply: AnyReply): Promise<void> {
  response.statusCode = reply.status
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value)
  if (request.method === 'HEAD') {
    response.end()
    return
  }
  try {
    await pipeline(Readable.from(reply.stream ?? []), response)
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
    log.debug('the client left before the end of the stream')
  }
}

/** Checks the request by the contract, in this order: who, may they, where, what; then calls the handler. */
export async function serve(route: Route, handler: AnyHandler, exchange: Exchange): Promise<void> {
  const call = await readCall(route, exchange)
  const reply = await handler(call)
  if (reply.stream !== undefined) await sendStream(exchange, reply)
  else send(exchange.response, route, reply)
}
