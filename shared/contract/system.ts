import { z } from 'zod'
import type { Route } from './route.ts'

export const healthSchema = z.object({ status: z.literal('ok') }).meta({ id: 'Health' })

export const readySchema = z
  .object({ status: z.enum(['ready', 'not_ready']), missing: z.array(z.string()) })
  .meta({ id: 'Readiness' })

export const statusSchema = z
  .object({ status: z.literal('ok'), name: z.literal('pulsegate'), version: z.string() })
  .meta({ id: 'Status' })

export const indexSchema = z
  .object({
    name: z.literal('pulsegate'),
    version: z.string(),
    links: z.record(z.string(), z.string()).meta({ description: 'Name to address.' })
  })
  .meta({ id: 'Index' })

export const jwksSchema = z.object({ keys: z.array(z.record(z.string(), z.unknown())) }).meta({ id: 'JwkSet' })

const DOCUMENT = z.record(z.string(), z.unknown())

function page<const P extends `/${string}`>(path: P, summary: string) {
  return {
    method: 'GET',
    path,
    auth: 'none',
    tag: 'Installation',
    summary,
    answers: { 200: { description: 'The page.', schema: z.string(), contentType: 'text/html; charset=utf-8' } }
  } as const satisfies Route
}

function document<const P extends `/${string}`, S extends z.ZodType>(path: P, summary: string, schema: S) {
  return {
    method: 'GET',
    path,
    auth: 'none',
    tag: 'Installation',
    summary,
    answers: { 200: { description: 'The document.', schema } }
  } as const satisfies Route
}

export const installationRoutes = {
  docsPage: page('/docs', 'The routes of the API, for people.'),
  index: document('/api', 'Where to find what.', indexSchema),
  caCertificate: {
    method: 'GET',
    path: '/ca.pem',
    auth: 'none',
    tag: 'Installation',
    summary: 'What clients have to trust, where this installation made its certificate itself.',
    answers: {
      200: {
        description: 'The certificate of its authority, in PEM.',
        schema: z.string(),
        contentType: 'application/pem-certificate-chain'
      }
    },
    problems: ['not_found']
  },
  status: document('/api/status', 'Is the API up?', statusSchema),
  healthz: { ...document('/healthz', 'Does this process answer?', healthSchema), counted: 'not' },
  readyz: {
    method: 'GET',
    path: '/readyz',
    auth: 'none',
    counted: 'not',
    tag: 'Installation',
    summary: 'Is the whole installation ready: API, PostgreSQL, Redis, a gateway and a worker?',
    answers: {
      200: { description: 'Ready.', schema: readySchema },
      503: { description: 'Not ready; `missing` names what is missing.', schema: readySchema }
    }
  },
  jwks: {
    method: 'GET',
    path: '/.well-known/jwks.json',
    auth: 'none',
    tag: 'Installation',
    summary: 'The public keys that verify our JWTs.',
    answers: { 200: { description: 'A JWK set.', schema: jwksSchema, contentType: 'application/jwk-set+json' } }
  },
  openapi: document('/openapi.json', 'This API as OpenAPI 3.1.', DOCUMENT),
  asyncapi: document('/asyncapi.json', 'The ingest protocol as AsyncAPI 3.0.', DOCUMENT)
} as const satisfies Record<string, Route>
