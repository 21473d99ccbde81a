import { AppError } from '../../shared/errors.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import { listMemberships } from '../../shared/store/memberships.ts'
import { findRefreshToken } from '../../shared/store/refresh-tokens.ts'
import { endSession } from '../../shared/store/sessions.ts'
import { findUser } from '../../shared/store/users.ts'
import { audit } from '../http/audit.ts'
import type { Authenticate, UserPrincipal } from '../http/authenticate.ts'
import type { Handlers } from '../http/contract.ts'
import type { Parts } from '../parts.ts'
import { createGuard } from '../sign-in/guard.ts'
import { createRefresh } from '../sign-in/refresh.ts'
import { CLEARED_COOKIE, originOf, type Sessions } from '../sign-in/sessions.ts'
import { signedInPerson } from '../sign-in/signed-in-person.ts'
import { JWT_SECONDS } from '../sign-in/tokens.ts'

interface Options {
  parts: Parts
  sessions: Sessions
  authenticate: Authenticate
}

type SessionHandlers = Pick<
  Handlers,
  'refreshSession' | 'logout' | 'switchOrganization' | 'readSession' | 'signInMethods'
>

const NO_STORE = { 'Cache-Control': 'no-store' }

function createReaders({ parts, authenticate }: Options): Pick<SessionHandlers, 'readSession' | 'signInMethods'> {
  const { db } = parts

  /** Who calls, or null for nobody that could sign in to a page. */
  async function whoAsks(headers: Parameters<Authenticate>[0]): Promise<UserPrincipal | null> {
    try {
      const principal = await authenticate(headers)
      return principal.kind === 'user' ? principal : null
    } catch (error) {
      if (error instanceof AppError && error.entry.status < 500) return null
      throw error
    }
  }

  return {
    readSession: async ({ request }) => {
      const principal = await whoAsks(request.headers)
      if (principal === null) return { status: 200, body: { user: null } }
      const { userId, organizationId, organizationName: name, plan, role, authenticatedAt } = principal
      const user = await db.tenant(organizationId, (tx) => findUser(tx, userId))
      if (user === undefined) return { status: 200, body: { user: null } }
      const organizations = (await listMemberships(db, userId)).map((one) => ({
        id: one.organization_id,
        name: one.organization_name,
        plan: one.plan,
        role: one.role,
        suspended: one.suspended,
        ssoRequired: one.sso_required
      }))
      const organization = { id: organizationId, name, plan }
      const body = { user, organization, role, organizations, authenticatedAt: formatTimestamp(authenticatedAt) }
      return { status: 200, body }
    },

    signInMethods: () => ({
      status: 200,
      body: { password: true, ...parts.ssoProviders, passwordReset: parts.mail.configured }
    })
  }
}

export function createSessionHandlers(options: Options): SessionHandlers {
  const { parts, sessions } = options
  const { db, secrets, clock } = parts
  const guard = createGuard(parts)
  const refresh = createRefresh(parts, sessions)

  /** The session that asks, and the one of the refresh token where that is another one of the same person. */
  async function sessionsToEnd({ userId, ...asks }: UserPrincipal, refreshToken: string | undefined) {
    const find = (token: string) => secrets.find(token, (digest) => findRefreshToken(db, digest))
    const owner = refreshToken === undefined ? undefined : (await find(refreshToken))?.row
    const organizations = new Map([[asks.sessionId, asks.organizationId]])
    if (owner?.user_id === userId) organizations.set(owner.session_id, owner.organization_id)
    return organizations
  }

  return {
    ...createReaders(options),

    refreshSession: async ({ body, address, request, requestId }) => {
      guard.ask('refresh', address)
      const refreshed = await refresh(body.refreshToken, originOf({ address, request, requestId }))
      return { status: 200, body: { ...refreshed, tokenType: 'Bearer', expiresIn: JWT_SECONDS }, headers: NO_STORE }
    },

    logout: async (call) => {
      const { principal, body } = call
      const at = new Date(clock())
      for (const [id, organizationId] of await sessionsToEnd(principal, body.refreshToken)) {
        await db.person(principal.userId, organizationId, async (tx) => {
          if (!(await endSession(tx, id, at))) return
          const what = { target: { kind: 'session', id }, details: { reason: 'signed_out' } }
          await audit(tx, { ...call, principal: { ...principal, organizationId } }, 'session.ended', what)
        })
      }
      return { status: 204, headers: { 'Set-Cookie': CLEARED_COOKIE } }
    },

    switchOrganization: async (call) => {
      const { principal, body } = call
      const person = await signedInPerson(parts, principal)
      const memberships = await listMemberships(db, principal.userId)
      const wanted = memberships.find((one) => one.organization_id === body.organizationId.toLowerCase())
      if (wanted === undefined) throw new AppError('not_found')
      if (wanted.suspended) throw new AppError('organization_suspended')
      // A session does not tell whether the provider that vouched is the one that this organization is bound to.
      if (wanted.sso_required && wanted.organization_id !== principal.organizationId) throw new AppError('sso_required')
      const organization = { id: wanted.organization_id, name: wanted.organization_name, plan: wanted.plan }
      const started = await sessions.start({ ...person, organization }, originOf(call))
      return { status: 200, body: started.body, headers: started.headers }
    }
  }
}
