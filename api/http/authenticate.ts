import { mayRole, type Permission, scopeOf, type UserRole } from '../../shared/contract/permissions.ts'
import type { Database } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import type { Caller } from '../../shared/identity/caller.ts'
import type { Callers } from '../../shared/identity/callers.ts'
import type { KeyUse } from '../../shared/identity/key-use.ts'
import { listMemberships } from '../../shared/store/memberships.ts'
import type { Sessions } from '../sign-in/sessions.ts'
import type { Tokens } from '../sign-in/tokens.ts'

/** A signed-in person, in one organization. */
export interface UserPrincipal {
  readonly kind: 'user'
  readonly userId: string
  readonly organizationId: string
  readonly organizationName: string
  readonly plan: string
  readonly role: UserRole
  /** The session that was shown by its cookie, or that the JWT came from: that may have ended since. */
  readonly sessionId: string
  /** How the person was recognised by this request. */
  readonly shown: 'session' | 'jwt'
  /** When the person last proved who they are, epoch ms. */
  readonly authenticatedAt: number
}

/** An agent or a service, by its key. */
export interface KeyPrincipal {
  readonly kind: 'key'
  readonly organizationId: string
  readonly caller: Caller
}

export type Principal = UserPrincipal | KeyPrincipal

interface Options {
  db: Database
  callers: Callers
  keyUse: KeyUse
  tokens: Tokens
  sessions: Sessions
}

/** The headers that a credential may be in; `authorization` wins. */
interface Shown {
  authorization?: string | undefined
  cookie?: string | undefined
}

export type Authenticate = (headers: Shown) => Promise<Principal>

/** Who shows these headers. @throws AppError unauthorized, organization_suspended */
export function createAuthenticate({ db, callers, keyUse, tokens, sessions }: Options): Authenticate {
  async function byKey(apiKey: string): Promise<Principal> {
    const caller = await callers.byApiKey(apiKey)
    if (caller === null) throw new AppError('unauthorized', { detail: 'The API key is unknown or revoked.' })
    if (caller.suspended) throw new AppError('organization_suspended')
    if (caller.keyId !== null) keyUse.note(caller.keyId)
    return { kind: 'key', organizationId: caller.organizationId, caller }
  }

  // Membership is read live: a token cannot be called back, but who left an organization is out of it at once.
  async function byToken(jwt: string): Promise<Principal> {
    const claims = await tokens.verify(jwt)
    if (claims === null) throw new AppError('unauthorized', { detail: 'The token is not valid, or no longer.' })
    const memberships = await listMemberships(db, claims.userId)
    const membership = memberships.find((one) => one.organization_id === claims.organizationId)
    if (membership === undefined) throw new AppError('unauthorized', { detail: 'The token is no longer valid.' })
    if (membership.suspended) throw new AppError('organization_suspended')
    if (membership.sso_required && claims.amr[0] === 'pwd') {
      throw new AppError('unauthorized', {
        detail: 'The organization asks for single sign-on; sign in by the provider.'
      })
    }
    return {
      kind: 'user',
      userId: claims.userId,
      organizationId: membership.organization_id,
      organizationName: membership.organization_name,
      plan: membership.plan,
      role: membership.role,
      sessionId: claims.sessionId,
      shown: 'jwt',
      authenticatedAt: claims.authenticatedAt
    }
  }

  async function bySession(cookie: string | undefined): Promise<Principal> {
    const session = await sessions.find(cookie)
    if (session === null) {
      throw new AppError('unauthorized', { detail: 'Sign in, or send Authorization: Bearer with an API key or a JWT.' })
    }
    if (session.suspended) throw new AppError('organization_suspended')
    return {
      kind: 'user',
      userId: session.user_id,
      organizationId: session.organization_id,
      organizationName: session.organization_name,
      plan: session.plan,
      role: session.role,
      sessionId: session.id,
      shown: 'session',
      authenticatedAt: session.authenticated_at.getTime()
    }
  }

  return async ({ authorization, cookie }) => {
    if (authorization === undefined) return bySession(cookie)
    const credential = /^Bearer +([^\s]+)\s*$/i.exec(authorization)?.[1]
    if (credential === undefined) {
      throw new AppError('unauthorized', { detail: 'Send Authorization: Bearer with an API key or a JWT.' })
    }
    if (/^pg[as]_/.test(credential)) return byKey(credential)
    if (credential.split('.').length === 3) return byToken(credential)
    throw new AppError('unauthorized', { detail: 'The credential is neither an API key nor a JWT.' })
  }
}

/** @throws AppError forbidden, insufficient_scope */
export function authorize(principal: Principal, permission: Permission): void {
  if (principal.kind === 'user') {
    if (!mayRole(principal.role, permission)) {
      throw new AppError('forbidden', { detail: `The role ${principal.role} may not do this (${permission}).` })
    }
    return
  }
  const scope = scopeOf(permission)
  if (scope === null) {
    throw new AppError('forbidden', { detail: 'This is for signed-in people; an API key cannot do it.' })
  }
  if (!principal.caller.scopes.has(scope)) {
    throw new AppError('insufficient_scope', { detail: `The key needs the scope ${scope}.` })
  }
}

/** How long a sign-in permits what asks for a recent one, in milliseconds. */
const RECENT_MS = 10 * 60_000

/** Did the person prove recently enough who they are? */
export function isRecent(authenticatedAt: number, now: number): boolean {
  return now - authenticatedAt <= RECENT_MS
}

/** @throws AppError reauthentication_required when the person of a session signed in too long ago. */
export function requireRecent(principal: Principal, now: number): void {
  if (principal.kind === 'user' && principal.shown === 'session') requireRecentProof(principal, now)
}

/** The same of who shows a JWT. @throws AppError reauthentication_required */
export function requireRecentProof({ authenticatedAt }: UserPrincipal, now: number): void {
  if (!isRecent(authenticatedAt, now)) {
    throw new AppError('reauthentication_required', {
      detail: 'Sign in again: this asks for a sign-in of the last 10 min.'
    })
  }
}
