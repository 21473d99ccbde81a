import { OpenAPIRegistry, OpenApiGeneratorV31, type RouteConfig } from '@asteasolutions/zod-to-openapi'
import { ERRORS, type ErrorCode } from '../protocol/errors.ts'
import { problemSchema } from './fields.ts'
import { rejectedProblemSchema } from './heartbeats.ts'
import { mayRole, ROLES, scopeOf } from './permissions.ts'
import type { Answer, Auth, Route } from './route.ts'
import { ROUTES } from './routes.ts'
import { VERSION } from './version.ts'

type Method = RouteConfig['method']
type ResponseContent = NonNullable<Extract<RouteConfig['responses'][string], { content?: unknown }>['content']>

/** For `ANY` the methods that clients really send are described. */
function methodsOf(route: Route): Method[] {
  // Our method names in lower case are exactly the library's.
  return route.method === 'ANY' ? ['get', 'post', 'head'] : [route.method.toLowerCase() as Method]
}

function authProblems(auth: Auth): ErrorCode[] {
  if (auth === 'none') return []
  const refusal = scopeOf(auth) === null ? 'forbidden' : 'insufficient_scope'
  return ['unauthorized', refusal, 'organization_suspended']
}

function problemsOf(route: Route): ErrorCode[] {
  return [
    ...authProblems(route.auth),
    ...(route.counted === undefined ? (['rate_limited'] as const) : []),
    ...(route.recent ? (['reauthentication_required'] as const) : []),
    ...(route.params === undefined || route.auth === 'none' ? [] : (['not_found'] as const)),
    ...(route.body === undefined
      ? []
      : (['malformed_json', 'payload_too_large', 'unsupported_media_type', 'validation_failed'] as const)),
    ...(route.query === undefined || route.auth === 'none' ? [] : (['validation_failed'] as const)),
    ...(route.problems ?? [])
  ]
}

/** One answer per status, naming the codes it may carry. */
function problemAnswers(route: Route): RouteConfig['responses'] {
  const byStatus = new Map<number, Set<ErrorCode>>()
  for (const code of problemsOf(route)) {
    const { status } = ERRORS[code]
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code))
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: [...codes].map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join(' '),
        content: {
          'application/problem+json': {
            schema: codes.has('heartbeats_rejected') ? rejectedProblemSchema : problemSchema
          }
        }
      }
    ])
  )
}

function describeAuth(auth: Auth): string {
  if (auth === 'none') return ''
  const roles = ROLES.filter((role) => mayRole(role, auth))
  const people = roles.length === ROLES.length ? '' : `For people with the role ${roles.join(' or ')}.`
  const scope = scopeOf(auth)
  return `${people}${scope === null ? '' : ` A key needs the scope \`${scope}\`.`}`.trim()
}

function contentOf({ schema, contentType = 'application/json', streams = [] }: Answer): { content?: ResponseContent } {
  if (schema === undefined) return {}
  const text = { schema: { type: 'string' as const } }
  return { content: { [contentType]: { schema }, ...Object.fromEntries(streams.map((type) => [type, text])) } }
}

function goodAnswers(route: Route): RouteConfig['responses'] {
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, answer]) => [
      status,
      { description: answer.description, ...contentOf(answer) }
    ])
  )
}

function describeRoute(name: string, route: Route, method: Method): RouteConfig {
  const description = `${route.description ?? ''} ${describeAuth(route.auth)}`.trim()
  return {
    method,
    path: route.path,
    operationId: route.method === 'ANY' && method !== 'get' ? `${name}${method === 'head' ? 'Head' : 'Post'}` : name,
    summary: route.summary,
    tags: [route.tag],
    ...(description === '' ? {} : { description }),
    ...(route.auth === 'none' ? { security: [] } : {}),
    request: {
      ...(route.params === undefined ? {} : { params: route.params }),
      ...(route.query === undefined ? {} : { query: route.query }),
      ...(route.body === undefined
        ? {}
        : { body: { required: route.bodyOptional !== true, content: { 'application/json': { schema: route.body } } } })
    },
    responses: { ...goodAnswers(route), ...problemAnswers(route) }
  }
}

/** OpenAPI 3.1 of the whole contract; `apiUrl` is where this installation is reached. */
export function buildOpenApi(apiUrl: string): Record<string, unknown> {
  const registry = new OpenAPIRegistry()
  registry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
    description: 'A JWT of POST /v1/auth/login, or an API key of an agent or a service.'
  })
  registry.registerComponent('securitySchemes', 'session', {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-session',
    description: 'Set by a sign-in, for pages of APP_URL only.'
  })
  for (const [name, route] of Object.entries(ROUTES)) {
    for (const method of methodsOf(route)) registry.registerPath(describeRoute(name, route, method))
  }
  const document = new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'Pulsegate API',
      version: VERSION,
      description:
        'Self-hosted uptime monitoring. Every route below /v1 answers below /api/v1 as well. Errors are ' +
        'application/problem+json (RFC 9457) with a stable `code`, except at push URLs. Times are ISO 8601 in UTC.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' }
    },
    servers: [{ url: apiUrl }],
    security: [{ bearer: [] }, { session: [] }],
    tags: [...new Set(Object.values(ROUTES).map((route) => route.tag))].map((name) => ({ name }))
  })
  // A plain JSON document from here on.
  return document as unknown as Record<string, unknown>
}
