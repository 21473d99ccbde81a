import { failing, type ReadyCheck } from '../../shared/admin-server.ts'
import { buildAsyncApi } from '../../shared/contract/asyncapi.ts'
import { buildOpenApi } from '../../shared/contract/openapi.ts'
import { VERSION } from '../../shared/contract/version.ts'
import { AppError } from '../../shared/errors.ts'
import { countReady, type ProcessKind } from '../../shared/instances.ts'
import type { Handlers } from '../http/contract.ts'
import { linkHeaderOf, linksOf } from '../http/links.ts'
import type { Addresses, Parts } from '../parts.ts'
import type { Tokens } from '../sign-in/tokens.ts'
import { docsPage } from './pages.ts'

interface Options {
  parts: Parts
  addresses: Addresses
  ca: string | null
  tokens: Tokens
}

const FIVE_MINUTES = { 'Cache-Control': 'public, max-age=300' }

/** Pages have style in themselves and load nothing; the frame rule is the one that every answer carries. */
const PAGE_HEADERS = {
  ...FIVE_MINUTES,
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer'
}

/** What the installation needs beside this process, which answers and so is there. */
export function readyChecks({ db, redis, redisPrefix }: Pick<Parts, 'db' | 'redis' | 'redisPrefix'>): ReadyCheck[] {
  const atLeastOne = (kind: ProcessKind) => async () => {
    if ((await countReady(redis.client, redisPrefix, kind)) === 0) throw new Error(`no ${kind} is ready`)
  }
  return [
    ['postgres', () => db.ping()],
    ['redis', () => redis.ping()],
    ['gateway', atLeastOne('gateway')],
    ['worker', atLeastOne('worker')]
  ]
}

type InstallationHandlers = Pick<
  Handlers,
  'docsPage' | 'index' | 'caCertificate' | 'status' | 'healthz' | 'readyz' | 'jwks' | 'openapi' | 'asyncapi'
>

export function createInstallationHandlers({ parts, addresses, ca, tokens }: Options): InstallationHandlers {
  const { apiUrl, ingestUrl } = addresses
  const openapi = buildOpenApi(apiUrl)
  const asyncapi = buildAsyncApi(ingestUrl)
  const checks = readyChecks(parts)
  const links = { ...linksOf(addresses), ...(ca === null ? {} : { ca: `${apiUrl}/ca.pem` }) }
  const linkHeader = linkHeaderOf(addresses)

  return {
    docsPage: () => ({ status: 200, body: docsPage(), headers: PAGE_HEADERS }),
    index: () => ({ status: 200, body: { name: 'pulsegate', version: VERSION, links }, headers: { Link: linkHeader } }),
    caCertificate: () => {
      if (ca === null) throw new AppError('not_found')
      return { status: 200, body: ca, headers: FIVE_MINUTES }
    },
    status: () => ({ status: 200, body: { status: 'ok', name: 'pulsegate', version: VERSION } }),
    healthz: () => ({ status: 200, body: { status: 'ok' } }),
    readyz: async () => {
      const missing = await failing(checks)
      if (missing.length === 0) return { status: 200, body: { status: 'ready', missing } }
      return { status: 503, body: { status: 'not_ready', missing }, headers: { 'Retry-After': '1' } }
    },
    jwks: async () => ({
      status: 200,
      body: await tokens.jwks(),
      headers: { 'Cache-Control': 'public, max-age=3600', 'Access-Control-Allow-Origin': '*' }
    }),
    openapi: () => ({ status: 200, body: openapi, headers: { ...FIVE_MINUTES, 'Access-Control-Allow-Origin': '*' } }),
    asyncapi: () => ({ status: 200, body: asyncapi, headers: { ...FIVE_MINUTES, 'Access-Control-Allow-Origin': '*' } })
  }
}
