import type { IncomingMessage } from 'node:http'
import type { SsoProvider, StartSsoQuery } from '../../shared/contract/sso.ts'
import { AppError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { findOpenConnections } from '../../shared/store/sso-connections.ts'
import { findUserByEmail } from '../../shared/store/users.ts'
import { isRecent } from '../http/authenticate.ts'
import type { Handlers } from '../http/contract.ts'
import { toAppError } from '../http/problem.ts'
import type { Addresses, Parts } from '../parts.ts'
import { createGuard } from '../sign-in/guard.ts'
import { type Origin, originOf, type Sessions } from '../sign-in/sessions.ts'
import { type Asked, createAdmission } from '../sign-in/sso/admit.ts'
import { type Attempt, CLEARED_SSO_COOKIE, createAttempts } from '../sign-in/sso/attempts.ts'
import { createPendingIdentities } from '../sign-in/sso/pending.ts'
import { createProviders, newExchangeSecrets } from '../sign-in/sso/providers.ts'
import { type Identity, readIdentity } from '../sign-in/sso/read-identity.ts'

interface Options {
  parts: Parts
  addresses: Addresses
  sessions: Sessions
}

/** Code and state stand in the address of the page that is left. */
const QUIET = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' }

/** A path that was checked when it came, with whatever a header cannot hold encoded. */
function addressAt(appUrl: string, path: string): string {
  return new URL(appUrl + path).href
}

function leadTo(location: string, cookies: string[]) {
  return { status: 303, headers: { ...QUIET, Location: location, 'Set-Cookie': cookies } } as const
}

function createRefusal({ appUrl }: Addresses) {
  /** What went wrong, as a code that the page has words for. */
  return (error: unknown, log: Log) => {
    const fault = toAppError(error)
    if (fault.entry.status >= 500) log.error({ err: fault.cause ?? fault, code: fault.code }, 'a sign-in failed')
    return leadTo(`${appUrl}/login?error=${fault.code}`, [CLEARED_SSO_COOKIE])
  }
}

/** @throws AppError not_found */
function requireProvider({ sso }: Parts, provider: SsoProvider): void {
  if (sso[provider] === null) throw new AppError('not_found')
}

/** The first half: the browser leaves for the provider. */
function createStart({ parts, sessions }: Options, shared: Shared) {
  const { db, clock } = parts
  const { providers, attempts, redirectUriOf } = shared

  /** Whose account a new identity will open: a page of ours has to ask, and the person to have just signed in. */
  async function linkFor({ headers }: IncomingMessage): Promise<NonNullable<Attempt['link']>> {
    if (headers['sec-fetch-site'] !== 'same-origin') throw new AppError('cross_site')
    const session = await sessions.find(headers.cookie)
    if (session === null) throw new AppError('unauthorized')
    if (!isRecent(session.authenticated_at.getTime(), clock())) throw new AppError('reauthentication_required')
    return { sessionId: session.id, userId: session.user_id }
  }

  /** Null where the organization is bound to none: then whoever answers is looked at. */
  async function tenantsOf(organizationId: string | undefined, provider: SsoProvider): Promise<string[] | null> {
    if (organizationId === undefined) return null
    const bound = await db.tenant(organizationId, (tx) => findOpenConnections(tx, organizationId, provider))
    return bound.length === 0 ? null : bound.map(({ tenant }) => tenant)
  }

  return async (provider: SsoProvider, query: StartSsoQuery, request: IncomingMessage) => {
    const { returnTo, organizationId, invitation, link } = query
    const attempt: Attempt = {
      provider,
      tenants: await tenantsOf(organizationId, provider),
      ...newExchangeSecrets(),
      returnTo,
      organizationId: organizationId ?? null,
      invitation: invitation ?? null,
      link: link === undefined ? null : await linkFor(request)
    }
    // Who is signed in and signs in again means to prove who they are.
    const isAgain = link === undefined && (await sessions.find(request.headers.cookie)) !== null
    const prompt = isAgain ? 'login' : link === undefined ? null : 'select_account'
    const url = await providers.authorizationUrl({ ...attempt, redirectUri: redirectUriOf(provider) }, prompt)
    const cookie = await attempts.begin(attempt)
    return { status: 302, headers: { ...QUIET, Location: url.href, 'Set-Cookie': cookie } } as const
  }
}

/** The second half: the browser comes back with an answer. */
function createFinish({ parts, addresses, sessions }: Options, shared: Shared) {
  const { providers, attempts, redirectUriOf } = shared
  const admission = createAdmission(parts)
  const pending = createPendingIdentities(parts)

  /** @throws AppError with the code that the page is told */
  async function identify(provider: SsoProvider, request: IncomingMessage): Promise<[Attempt, Identity]> {
    const search = new URL(request.url ?? '', addresses.apiUrl).search
    const state = new URLSearchParams(search).get('state')
    const attempt = state === null ? null : await attempts.take(state, request.headers.cookie)
    if (attempt?.provider !== provider) throw new AppError('sso_state_invalid')
    const claims = await providers.redeem({ ...attempt, redirectUri: redirectUriOf(provider) }, search)
    const authority = parts.sso.entra?.issuer ?? ''
    return [attempt, readIdentity(claims, { provider, tenants: attempt.tenants, authority })]
  }

  async function link(to: NonNullable<Attempt['link']>, identity: Identity, request: IncomingMessage, origin: Origin) {
    const session = await sessions.find(request.headers.cookie)
    if (session?.id !== to.sessionId) throw new AppError('sso_state_invalid')
    await admission.link(identity, { ...to, organizationId: session.organization_id }, origin)
  }

  /** Opens a session. Returns its cookie. */
  async function signIn(asked: Asked, origin: Origin): Promise<string> {
    const { provider: method, authenticatedAt: provenAt } = asked.identity
    const admitted = await admission.admit(asked, origin)
    const now = parts.clock()
    const { headers } = await sessions.start(
      { ...admitted, method, authenticatedAt: Math.min(provenAt ?? now, now) },
      origin
    )
    return headers['Set-Cookie'] ?? ''
  }

  /** The address has an account: if that has a password, showing it here once connects the two. */
  async function askForPassword(asked: Asked, returnTo: string, fault: AppError) {
    const account = await findUserByEmail(parts.db, asked.identity.email ?? '')
    if ((account?.password_hash ?? null) === null) throw fault
    const query = new URLSearchParams({ error: fault.code, provider: asked.identity.provider, next: returnTo })
    const cookies = [CLEARED_SSO_COOKIE, await pending.keep(asked)]
    return leadTo(`${addresses.appUrl}/login?${query}`, cookies)
  }

  return async (provider: SsoProvider, request: IncomingMessage, origin: Origin) => {
    const [attempt, identity] = await identify(provider, request)
    const { organizationId, invitation, returnTo } = attempt
    const there = addressAt(addresses.appUrl, returnTo)
    if (attempt.link !== null) {
      await link(attempt.link, identity, request, origin)
      return leadTo(there, [CLEARED_SSO_COOKIE])
    }
    const asked = { identity, organizationId, invitation }
    try {
      return leadTo(there, [CLEARED_SSO_COOKIE, await signIn(asked, origin)])
    } catch (error) {
      if (error instanceof AppError && error.code === 'sign_in_first') return askForPassword(asked, returnTo, error)
      throw error
    }
  }
}

function share({ parts, addresses }: Options) {
  return {
    providers: createProviders(parts.sso, parts.log, parts.clock),
    attempts: createAttempts(parts),
    redirectUriOf: (provider: SsoProvider) => `${addresses.apiUrl}/v1/auth/sso/${provider}/callback`
  }
}
type Shared = ReturnType<typeof share>

/** Browsers come here by navigation, so refusals are addresses of a page and not problems. */
export function createSsoHandlers(options: Options): Pick<Handlers, 'startSso' | 'finishSso'> {
  const { parts, addresses } = options
  const shared = share(options)
  const start = createStart(options, shared)
  const finish = createFinish(options, shared)
  const refuse = createRefusal(addresses)
  const guard = createGuard(parts)
  return {
    startSso: async ({ params: { provider }, query, request, address, log }) => {
      requireProvider(parts, provider)
      try {
        guard.ask('sso', address)
        return await start(provider, query, request)
      } catch (error) {
        return refuse(error, log)
      }
    },

    finishSso: async ({ params: { provider }, request, address, requestId, log }) => {
      requireProvider(parts, provider)
      try {
        return await finish(provider, request, originOf({ address, request, requestId }))
      } catch (error) {
        return refuse(error, log)
      }
    }
  }
}
