import express, { type Express, type NextFunction, type Request, type Response } from 'express'
import { v7 as uuidv7 } from 'uuid'
import type { Route } from '../shared/contract/route.ts'
import { ROUTES, type RouteName } from '../shared/contract/routes.ts'
import { AppError, SECURITY_HEADERS } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { createAuthenticate } from './http/authenticate.ts'
import { createLimits } from './http/limits.ts'
import { linkHeaderOf } from './http/links.ts'
import { sendProblem } from './http/problem.ts'
import { redirect } from './http/redirect.ts'
import { createRequestLog, type RequestFacts } from './http/request-log.ts'
import { type AnyHandler, type Gate, serve } from './http/serve.ts'
import type { Addresses, Parts } from './parts.ts'
import { createHandlers } from './routes/handlers.ts'
import { createSessions } from './sign-in/sessions.ts'
import { createTokens } from './sign-in/tokens.ts'
import { serveWebApp } from './web-app.ts'

export interface AppOptions {
  parts: Parts
  addresses: Addresses
  /** TLS ends at a trusted proxy, whose X-Forwarded headers are believed. */
  behindProxy: boolean
  /** Seconds for Strict-Transport-Security, or null for none. */
  hstsSeconds: number | null
  /** The authority that vouches for our certificate, in PEM; null where anybody's list of authorities does. */
  ca: string | null
}

/** What the steps of one request share. */
interface Locals extends RequestFacts {
  requestId: string
}

interface Mounted {
  route: Route
  handler: AnyHandler
}

function localsOf(response: Response): Locals {
  // Set by `begin` for every request, and by nobody else.
  return response.locals as Locals
}

/** `/v1/monitors/{id}` in Express's words; /v1 answers below /api as well. */
function expressPaths(path: string): string[] {
  const own = path.replaceAll(/\{(\w+)\}/g, ':$1')
  return own.startsWith('/v1/') ? [own, `/api${own}`] : [own]
}

function groupByPath(handlers: Record<RouteName, unknown>): Map<string, Map<string, Mounted>> {
  const groups = new Map<string, Map<string, Mounted>>()
  for (const [name, route] of Object.entries(ROUTES) as Array<[RouteName, Route]>) {
    const group = groups.get(route.path) ?? new Map<string, Mounted>()
    // `Handlers` ties each handler to its route; here the pair is taken together, so what `serve` checks is what it gets.
    group.set(route.method, { route, handler: handlers[name] as AnyHandler })
    groups.set(route.path, group)
  }
  return groups
}

function allowed(group: Map<string, Mounted>): string {
  return [...group.keys(), ...(group.has('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ')
}

function dispatcher(group: Map<string, Mounted>, gate: Gate) {
  return async (request: Request, response: Response): Promise<void> => {
    const { method } = request
    const mounted = group.get('ANY') ?? group.get(method === 'HEAD' ? 'GET' : method)
    if (mounted === undefined) {
      response.setHeader('Allow', allowed(group))
      if (method !== 'OPTIONS') throw new AppError('method_not_allowed')
      response.status(204).end()
      return
    }
    const locals = localsOf(response)
    locals.route = mounted.route.path
    await serve(mounted.route, mounted.handler, {
      request,
      response,
      requestId: locals.requestId,
      log: locals.log,
      gate
    })
  }
}

function beginner({ parts, hstsSeconds }: AppOptions) {
  const follow = createRequestLog(parts.metrics)
  return (request: Request, response: Response, next: NextFunction): void => {
    const requestId = uuidv7()
    const log: Log = parts.log.child({ requestId })
    response.locals = { requestId, log, method: request.method, route: null } satisfies Locals
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value)
    response.setHeader('Request-Id', requestId)
    response.setHeader('Cache-Control', 'no-store')
    if (hstsSeconds !== null) response.setHeader('Strict-Transport-Security', `max-age=${hstsSeconds}`)
    follow(response, localsOf(response))
    // RFC 9112 §3.2; Node takes the first of several.
    if ((request.headersDistinct.host?.length ?? 0) > 1) throw new AppError('bad_request', { detail: 'Send one Host.' })
    next()
  }
}

/**
 * A path that cannot be decoded is taken as it is written, and so names nothing: it ends in the 404 of whoever owns the
 * address (a push URL's has a shape of its own) and not in Express's 400.
 */
function takeLiterally(request: Request, _response: Response, next: NextFunction): void {
  const [path = '', ...query] = request.url.split('?')
  try {
    decodeURIComponent(path)
  } catch {
    request.url = [path.replaceAll('%', '%25'), ...query].join('?')
  }
  next()
}

/** Makes the whole HTTP API; it listens nowhere. Every answer is ours: Express's own pages lack the security headers. */
export function createApp(options: AppOptions): Express {
  const { parts, addresses, behindProxy, ca } = options
  const tokens = createTokens({
    signingKeys: parts.signingKeys,
    issuer: addresses.siteUrl,
    audience: addresses.apiUrl,
    clock: parts.clock
  })
  const sessions = createSessions({ ...parts, tokens })
  const authenticate = createAuthenticate({ ...parts, tokens, sessions })
  const limits = createLimits(parts.counts, parts.rateLimitScale)
  const appOrigin = new URL(addresses.appUrl).origin
  const gate = { authenticate, limits, appOrigin, clock: parts.clock }
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', 'simple')
  // One hop: the proxy in front. Without it nobody's X-Forwarded-For is believed.
  app.set('trust proxy', behindProxy ? 1 : false)
  app.use(beginner(options))
  if (behindProxy) {
    app.use((request: Request, response: Response, next: NextFunction) => {
      if (request.headers['x-forwarded-proto'] === 'http') redirect(request, response, addresses)
      else next()
    })
  }
  app.use(takeLiterally)
  serveWebApp(app, linkHeaderOf(addresses))
  for (const [path, group] of groupByPath(createHandlers({ parts, addresses, ca, tokens, sessions, authenticate }))) {
    app.all(expressPaths(path), dispatcher(group, gate))
  }
  app.use(() => {
    throw new AppError('not_found')
  })
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const { requestId, log } = localsOf(response)
    sendProblem(response, error, { requestId, log, credentialShown: request.headers.authorization !== undefined })
  })
  return app
}
