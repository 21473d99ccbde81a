import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { type Configuration, interactionPolicy, Provider } from 'oidc-provider'
import { loadOrCreateCertificate } from '../../shared/certificates.ts'
import { dataDirFor } from './data-dir.ts'
import type { TearsDown } from './database.ts'

/** Somebody with an account at the provider, and what its ID token says of them. */
export interface Somebody {
  /** `sub` of the token, and the name of the account here. */
  sub: string
  claims: Record<string, unknown>
  /** Of an Entra-like provider: in whose directory the account is. */
  directory?: string
}

export interface IdentityProvider {
  /** Our registration there. */
  client: { issuer: string; clientId: string; clientSecret: string }
  /** Of the certificate, in PEM. */
  ca: Buffer
  /** Who answers at the provider's page from now on. */
  person: Somebody
  /** When that person entered their password there; epoch ms, null: just now. */
  enteredAt: number | null
  /** Of an Entra-like provider: the directory that answers in the place of every other, as in a broken one. */
  answersAs: string | null
}

interface Options {
  kind: 'entra' | 'google'
  redirectUri: string
}

const CLIENT_ID = 'pulsegate'
const CLIENT_SECRET = 'a secret of the test alone'
const NOBODY: Somebody = { sub: 'nobody', claims: {} }
/** Every claim that the tests let an ID token have. */
const CLAIMS = {
  openid: ['sub', 'tid', 'oid', 'hd', 'xms_edov'],
  email: ['email', 'email_verified'],
  profile: ['name']
}

function configuration(idp: IdentityProvider, redirectUri: string, jwk: JWK): Configuration {
  const policy = interactionPolicy.base()
  policy.add(new interactionPolicy.Prompt({ name: 'select_account', requestable: true }), 0)
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'client_secret_post',
        require_auth_time: true
      }
    ],
    jwks: { keys: [jwk] },
    claims: CLAIMS,
    // Both providers put what the scopes allow into the ID token itself.
    conformIdTokenClaims: false,
    cookies: { keys: ['of the test alone'] },
    features: { devInteractions: { enabled: false } },
    interactions: { policy, url: ({ oidc }, { uid }) => `${oidc.provider.issuer}/interaction/${uid}` },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub, ...idp.person.claims }) }),
    loadExistingGrant: async ({ oidc }) => {
      const { client, session, provider } = oidc
      const ids = { clientId: client?.clientId ?? '', accountId: session?.accountId ?? '' }
      const grant = new provider.Grant(ids)
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
    ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 60, IdToken: 600, Interaction: 600, Session: 600 }
  }
}

/** The person presses the button. */
async function answerPage(
  idp: IdentityProvider,
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse
) {
  const ts = Math.floor((idp.enteredAt ?? Date.now()) / 1000)
  const result = { login: { accountId: idp.person.sub, ts }, select_account: {} }
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
}

/** Entra answers without the `iss` of RFC 9207, which the library in here always sends. */
function withoutIss(provider: Provider): Provider {
  provider.use(async (context, next) => {
    await next()
    const location = context.response.get('location')
    if (location !== '') {
      const url = new URL(location, provider.issuer)
      url.searchParams.delete('iss')
      context.set('location', url.href)
    }
    if (context.path.endsWith('/openid-configuration')) {
      const { authorization_response_iss_parameter_supported: _, ...rest } = context.body as Record<string, unknown>
      context.body = rest
    }
  })
  return provider
}

type Route = (request: IncomingMessage, response: ServerResponse) => Promise<void>

function routeTo(idp: IdentityProvider, provider: Provider, mount: string): Route {
  const handle = provider.callback()
  return async (request, response) => {
    const path = (request.url ?? '/').slice(mount.length)
    if (path.startsWith('/interaction/')) return answerPage(idp, provider, request, response)
    // The library tells where it is mounted by comparing the two.
    Object.assign(request, { originalUrl: mount + path, url: path })
    await handle(request, response)
  }
}

/** Entra's document for any directory names a template for an issuer. */
function documentOfAny(base: string): Record<string, unknown> {
  const any = `${base}/organizations/v2.0`
  return {
    issuer: `${base}/{tenantid}/v2.0`,
    authorization_endpoint: `${any}/auth`,
    token_endpoint: `${any}/token`,
    jwks_uri: `${any}/jwks`,
    id_token_signing_alg_values_supported: ['RS256']
  }
}

/** All directories of an Entra-like provider: an issuer each, one set of keys, and a document for any of them. */
function routeEntra(idp: IdentityProvider, base: string, configured: Configuration): Route {
  const directories = new Map<string, Route>()
  const directoryOf = (id: string): Route => {
    const mount = `/${id}/v2.0`
    const route = directories.get(id) ?? routeTo(idp, withoutIss(new Provider(base + mount, configured)), mount)
    directories.set(id, route)
    return route
  }
  /** What is not the business of the directory itself; false: it is. */
  const redirected = (id: string, rest: string, response: ServerResponse, answering: string): boolean => {
    if (id === 'organizations' && rest.startsWith('/.well-known/')) {
      response.setHeader('Content-Type', 'application/json')
      response.end(JSON.stringify(documentOfAny(base)))
      return true
    }
    if (answering === id || !rest.startsWith('/auth?')) return false
    response.writeHead(302, { Location: `${base}/${answering}/v2.0${rest}` }).end()
    return true
  }
  return async (request, response) => {
    const [, id = '', rest = ''] = /^\/([^/]+)\/v2\.0(\/.*)$/.exec(request.url ?? '') ?? []
    const isAny = id === 'organizations'
    const answering = isAny ? (idp.person.directory ?? '') : (idp.answersAs ?? id)
    if (redirected(id, rest, response, answering)) return
    const directory = isAny || rest === '/token' ? answering : id
    Object.assign(request, { url: `/${directory}/v2.0${rest}` })
    await directoryOf(directory)(request, response)
  }
}

/** An OpenID provider in this process, over TLS, like one of the two that people have; ended with the test. */
export async function identityProviderFor(t: TearsDown, { kind, redirectUri }: Options): Promise<IdentityProvider> {
  const { certFile, keyFile, caFile } = await loadOrCreateCertificate(await dataDirFor(t), [])
  const server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const issuer = `https://localhost:${(server.address() as AddressInfo).port}`
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig' }
  const client = { issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET }
  const idp: IdentityProvider = { client, ca: readFileSync(caFile), person: NOBODY, enteredAt: null, answersAs: null }
  const configured = configuration(idp, redirectUri, jwk)
  const route =
    kind === 'entra' ? routeEntra(idp, issuer, configured) : routeTo(idp, new Provider(issuer, configured), '')
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    route(request, response).catch((error: Error) => {
      response.writeHead(500).end(error.stack)
    })
  })
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  })
  return idp
}
