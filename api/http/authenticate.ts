import type { UserRole } from '../../shared/contract/auth.ts'
import type { Auth, Scope } from '../../shared/contract/route.ts'
import type { Database } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import type { Caller } from '../../shared/identity/caller.ts'
import type { Callers } from '../../shared/identity/callers.ts'
import { listMemberships } from '../../shared/store/memberships.ts'
import type { Tokens } from '../sign-in/tokens.ts'

/** A signed-in person, in one organization. */
export interface UserPrincipal {
  readonly kind: 'user'
  readonly userId: string
  readonly organizationId: string
  readonly organizationName: string
  readonly plan: string
  readonly role: UserRole
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
  tokens: Tokens
}

export type Authenticate = (authorization: string | undefined) => Promise<Principal>

/** Who shows this `Authorization` header. @throws AppError unauthorized, organization_suspended */
export function createAuthenticate({ db, callers, tokens }: Options): Authenticate {
  async function byKey(apiKey: string): Promise<Principal> {
    const caller = await callers.byApiKey(apiKey)
    if (caller === null) throw new AppError('unauthorized', { detail: 'The API key is unknown or revoked.' })
    if (caller.suspended) throw new AppError('organization_suspended')
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
    return {
      kind: 'user',
      userId: claims.userId,
      organizationId: membership.organization_id,
      organizationName: membership.organization_name,
      plan: membership.plan,
      role: membership.role
    }
  }

  return async (authorization) => {
    const credential = /^Bearer +([^\s]+)\s*$/i.exec(authorization ?? '')?.[1]
    if (credential === undefined) {
      throw new AppError('unauthorized', { detail: 'Send Authorization: Bearer with an API key or a JWT.' })
    }
    if (/^pg[as]_/.test(credential)) return byKey(credential)
    if (credential.split('.').length === 3) return byToken(credential)
    throw new AppError('unauthorized', { detail: 'The credential is neither an API key nor a JWT.' })
  }
}

/** @throws AppError forbidden, insufficient_scope */
export function authorize(principal: Principal, auth: Exclude<Auth, 'none'>): void {
  if (principal.kind === 'key') {
    if (auth === 'user' || auth === 'admin') {
      throw new AppError('forbidden', { detail: 'This is for signed-in people; an API key cannot do it.' })
    }
    if (!principal.caller.scopes.has(auth satisfies Scope)) {
      throw new AppError('insufficient_scope', { detail: `The key needs the scope ${auth}.` })
    }
    return
  }
  if (auth === 'admin' && principal.role === 'member') {
    throw new AppError('forbidden', { detail: 'Only admins and owners of the organization may do this.' })
  }
}
