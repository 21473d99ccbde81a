import {
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientError,
  ClientSecretPost,
  type Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  ResponseBodyError,
  randomNonce,
  randomPKCECodeVerifier,
  randomState
} from 'openid-client'
import type { SsoProvider } from '../../../shared/contract/sso.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'

/** Our registration at a provider. */
interface Client {
  /** Of Entra the authority, below which each tenant is an issuer; of Google the issuer. No slash at the end. */
  issuer: string
  clientId: string
  clientSecret: string
}

/** Null: people cannot sign in by this provider. */
export interface SsoSettings {
  entra: Client | null
  google: Client | null
  /** How providers are asked; Node's own when absent. */
  fetch?: CustomFetch
}

/** What both halves of a sign-in have to agree on. */
export interface Exchange {
  provider: SsoProvider
  /** Tenants that may answer; null: any. */
  tenants: readonly string[] | null
  redirectUri: string
  state: string
  nonce: string
  codeVerifier: string
}

export type Claims = Readonly<Record<string, unknown>>

export interface Providers {
  /** Where the browser is sent. `prompt` is what the person shall be asked even if the provider knows them. */
  authorizationUrl(exchange: Exchange, prompt: 'login' | 'select_account' | null): Promise<URL>
  /**
   * The claims of the ID token that the code in `search` is redeemed for: signature, issuer, audience, time, nonce, state
   * and PKCE are verified. Whether the tenant is the right one is not yet.
   * @throws AppError sso_denied, sso_failed, sso_wrong_tenant, sso_unavailable
   */
  redeem(exchange: Exchange, search: string): Promise<Claims>
}

/** The one address whose document openid-client lets name a template as issuer, and then puts the token's `tid` in. */
const ENTRA_HOME = 'https://login.microsoftonline.com'
/** Entra's document for all tenants of organizations says so instead of an issuer. */
const ANY_TENANT = '{tenantid}'
/** Endpoints rarely change; keys are looked after by the library. */
const KEPT_MS = 3_600_000
/** Each tenant is an issuer of its own. */
const MOST_KEPT = 500
const TIMEOUT_SECONDS = 10

/** Asks another authority (a national cloud) wherever the library asks the home of Entra. */
function askingAt(authority: string, ask: CustomFetch): CustomFetch {
  return (url, options) => {
    const there = url.startsWith(`${ENTRA_HOME}/`) ? authority + url.slice(ENTRA_HOME.length) : url
    return ask(there, options)
  }
}

async function discover(provider: SsoProvider, tenant: string | null, settings: SsoSettings): Promise<Configuration> {
  const client = settings[provider]
  // The routes of a provider that is not set up are not there.
  if (client === null) throw new AppError('not_found')
  const { issuer, clientId, clientSecret } = client
  const ask: CustomFetch = settings.fetch ?? ((url, options) => fetch(url, options as RequestInit))
  const forAnyTenant = provider === 'entra' && tenant === null
  const options = {
    // A code flow may trust the connection alone; a signature costs little more.
    execute: [enableNonRepudiationChecks],
    timeout: TIMEOUT_SECONDS,
    [customFetch]: forAnyTenant ? askingAt(issuer, ask) : ask
  }
  const own = provider === 'google' ? issuer : `${issuer}/${tenant}/v2.0`
  const server = new URL(forAnyTenant ? `${ENTRA_HOME}/organizations/v2.0` : own)
  const configuration = await discovery(server, clientId, undefined, ClientSecretPost(clientSecret), options)
  const named = configuration.serverMetadata().issuer
  const expected = forAnyTenant ? `${issuer}/${ANY_TENANT}/v2.0` : own
  // The library would take any issuer from the home of Entra.
  if (named !== expected) throw new Error(`the document of ${server.href} names another issuer`)
  return configuration
}

/** Entra: the tenant whose own issuer is asked, or null where any of several may answer. */
function issuerTenant({ provider, tenants }: Pick<Exchange, 'provider' | 'tenants'>): string | null {
  return provider === 'entra' && tenants?.length === 1 ? (tenants[0] ?? null) : null
}

function createDiscovered(settings: SsoSettings, log: Log, clock: () => number) {
  const kept = new Map<string, { at: number; configuration: Configuration }>()
  return async (exchange: Exchange): Promise<Configuration> => {
    const { provider } = exchange
    const tenant = issuerTenant(exchange)
    const key = `${provider}/${tenant ?? ''}`
    const known = kept.get(key)
    if (known !== undefined && clock() - known.at < KEPT_MS) return known.configuration
    const configuration = await discover(provider, tenant, settings).catch((error: unknown) => {
      if (error instanceof AppError) throw error
      log.warn({ err: error, provider }, 'an identity provider could not be discovered')
      throw new AppError('sso_unavailable', { cause: error })
    })
    const [oldest] = kept.keys()
    if (kept.size >= MOST_KEPT && oldest !== undefined) kept.delete(oldest)
    kept.set(key, { at: clock(), configuration })
    return configuration
  }
}

/** The library hangs what it compared on the error behind its own. */
function comparedClaim(error: unknown): unknown {
  const compared = error instanceof ClientError && error.cause instanceof Error ? error.cause.cause : undefined
  return (compared as { claim?: unknown } | undefined)?.claim
}

/** A stable code for whatever went wrong; the words of the provider stay in the log. */
function codeOf(error: unknown): 'sso_denied' | 'sso_failed' | 'sso_wrong_tenant' | 'sso_unavailable' {
  if (error instanceof AuthorizationResponseError) return error.error === 'access_denied' ? 'sso_denied' : 'sso_failed'
  // `fetch failed`, and a time-out.
  if (error instanceof TypeError) return 'sso_unavailable'
  if (error instanceof ClientError && error.code === 'OAUTH_TIMEOUT') return 'sso_unavailable'
  return comparedClaim(error) === 'iss' ? 'sso_wrong_tenant' : 'sso_failed'
}

function wordsOf(error: unknown): string | undefined {
  if (!(error instanceof AuthorizationResponseError || error instanceof ResponseBodyError)) return undefined
  return `${error.error}: ${error.error_description ?? ''}`.slice(0, 500)
}

/** The one door to the identity providers. */
export function createProviders(settings: SsoSettings, log: Log, clock: () => number): Providers {
  const discovered = createDiscovered(settings, log, clock)
  return {
    authorizationUrl: async (exchange, prompt) => {
      const { provider, tenants, redirectUri, state, nonce, codeVerifier } = exchange
      const configuration = await discovered(exchange)
      const [domain = '*', ...others] = tenants ?? []
      return buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        // A hint for the choice of accounts; what counts is the claim.
        ...(provider === 'google' ? { hd: others.length === 0 ? domain : '*' } : {}),
        // Google knows no `login`.
        ...(prompt === null ? {} : { prompt: provider === 'google' ? 'select_account' : prompt })
      })
    },

    redeem: async (exchange, search) => {
      const { redirectUri, state, nonce, codeVerifier } = exchange
      const configuration = await discovered(exchange)
      try {
        const tokens = await authorizationCodeGrant(configuration, new URL(redirectUri + search), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true
        })
        return tokens.claims() as Claims
      } catch (error) {
        const code = codeOf(error)
        log.warn({ err: error, code, provider: exchange.provider, said: wordsOf(error) }, 'a sign-in was refused')
        throw new AppError(code, { cause: error })
      }
    }
  }
}

/** What nobody may guess: ties answer, ID token and code to the browser's question. */
export function newExchangeSecrets(): Pick<Exchange, 'state' | 'nonce' | 'codeVerifier'> {
  return { state: randomState(), nonce: randomNonce(), codeVerifier: randomPKCECodeVerifier() }
}
