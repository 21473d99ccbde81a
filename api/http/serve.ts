import type { ServerResponse } from 'node:http'
import type { Request } from 'express'
import { BODY_LIMIT, type Route } from '../../shared/contract/route.ts'
import { AppError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { RateLimit } from '../../shared/rate-limit.ts'
import { type Authenticate, authorize, type Principal, requireRecent } from './authenticate.ts'
import { readJson } from './read-body.ts'
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
}

/** What stands before every route that is not for everybody. */
export interface Gate {
  authenticate: Authenticate
  /** Requests per caller. */
  callerLimit: RateLimit
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

/** @throws AppError unauthorized, organization_suspended, rate_limited, forbidden, insufficient_scope */
async function admit(
  route: Route,
  request: Request,
  { authenticate, callerLimit, clock }: Gate
): Promise<Principal | undefined> {
  if (route.auth === 'none') return undefined
  const principal = await authenticate(request.headers)
  const wait = await callerLimit.take(callerId(principal))
  if (wait > 0) throw new AppError('rate_limited', { detail: `Try again in ${wait} s.`, retryAfterSeconds: wait })
  authorize(principal, route.auth)
  if (route.recent) requireRecent(principal, clock())
  return principal
}

async function readCall(route: Route, { request, requestId, log, gate }: Exchange): Promise<AnyCall> {
  const principal = await admit(route, request, gate)
  const params = route.params === undefined ? undefined : checkParams(route.params, request.params)
  const query = route.query === undefined ? undefined : checkQuery(route.query, { ...request.query })
  let body: unknown
  if (route.body !== undefined) {
    body = await readJson(request, route.bodyLimit ?? BODY_LIMIT)
    if (!route.itemwise) body = checkBody(route.body, body)
  }
  return { params, query, body, principal, request, address: request.ip ?? '', requestId, log }
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

/** Checks the request by the contract, in this order: who, may they, where, what; then calls the handler. */
export async function serve(route: Route, handler: AnyHandler, exchange: Exchange): Promise<void> {
  const call = await readCall(route, exchange)
  send(exchange.response, route, await handler(call))
}
