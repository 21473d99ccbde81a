import type { ServerResponse } from 'node:http'
import type { Request } from 'express'
import { BODY_LIMIT, type Route } from '../../shared/contract/route.ts'
import type { Log } from '../../shared/log.ts'
import { type Authenticate, authorize, type Principal } from './authenticate.ts'
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
  log: Log
}
interface AnyReply {
  status: number
  headers?: Readonly<Record<string, string>>
  body?: unknown
  text?: string
}
export type AnyHandler = (call: AnyCall) => Promise<AnyReply> | AnyReply

async function readCall(route: Route, request: Request, log: Log, authenticate: Authenticate): Promise<AnyCall> {
  let principal: Principal | undefined
  if (route.auth !== 'none') {
    principal = await authenticate(request.headers.authorization)
    authorize(principal, route.auth)
  }
  const params = route.params === undefined ? undefined : checkParams(route.params, request.params)
  const query = route.query === undefined ? undefined : checkQuery(route.query, { ...request.query })
  let body: unknown
  if (route.body !== undefined) {
    body = await readJson(request, route.bodyLimit ?? BODY_LIMIT)
    if (!route.itemwise) body = checkBody(route.body, body)
  }
  return { params, query, body, principal, request, address: request.ip ?? '', log }
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
export async function serve(
  route: Route,
  handler: AnyHandler,
  {
    request,
    response,
    log,
    authenticate
  }: { request: Request; response: ServerResponse; log: Log; authenticate: Authenticate }
): Promise<void> {
  const call = await readCall(route, request, log, authenticate)
  send(response, route, await handler(call))
}
