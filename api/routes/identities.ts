import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import { deleteIdentities, type IdentityRow, listIdentities } from '../../shared/store/identities.ts'
import { listMemberships } from '../../shared/store/memberships.ts'
import { endSessionsByMethod } from '../../shared/store/sessions.ts'
import { findBoundOrganizations } from '../../shared/store/sso-connections.ts'
import { findUserByEmail, lockUser, type User } from '../../shared/store/users.ts'
import { audit } from '../http/audit.ts'
import type { Handlers } from '../http/contract.ts'
import type { Parts } from '../parts.ts'

/** @throws AppError last_way_in when the person could not sign in any more, or not into one of their organizations. */
async function requireOtherWay(tx: Queryable, user: User, remaining: IdentityRow[]): Promise<void> {
  const account = await findUserByEmail(tx, user.email)
  if (remaining.length === 0 && (account?.password_hash ?? null) === null) {
    throw new AppError('last_way_in', { detail: 'Set a password or link another identity first.' })
  }
  const closed = (await listMemberships(tx, user.id)).filter((one) => one.sso_required)
  if (closed.length === 0) return
  const reached = new Set<string>()
  for (const identity of remaining) {
    for (const { organization_id: id } of await findBoundOrganizations(tx, identity)) reached.add(id)
  }
  const lost = closed.find((one) => !reached.has(one.organization_id))
  if (lost === undefined) return
  throw new AppError('last_way_in', { detail: `${lost.organization_name} asks for single sign-on by this identity.` })
}

export function createIdentityHandlers({ db, clock }: Parts): Pick<Handlers, 'listIdentities' | 'unlinkIdentities'> {
  return {
    listIdentities: async ({ principal: { userId } }) => {
      const rows = await db.person(userId, null, (tx) => listIdentities(tx, userId))
      const data = rows.map(({ provider, tenant, email, created_at: at }) => ({
        provider,
        tenant,
        email,
        linkedAt: formatTimestamp(at.getTime())
      }))
      return { status: 200, body: { data, nextCursor: null } }
    },

    unlinkIdentities: async (call) => {
      const { principal, params } = call
      const { userId, organizationId, sessionId } = principal
      await db.person(userId, organizationId, async (tx) => {
        const user = await lockUser(tx, userId)
        if (user === undefined) throw new AppError('unauthorized')
        const all = await listIdentities(tx, userId)
        const gone = all.filter((one) => one.provider === params.provider)
        if (gone.length === 0) throw new AppError('not_found')
        await requireOtherWay(
          tx,
          user,
          all.filter((one) => one.provider !== params.provider)
        )
        await deleteIdentities(tx, userId, params.provider)
        await endSessionsByMethod(tx, userId, { method: params.provider, keepId: sessionId, at: new Date(clock()) })
        for (const { provider, tenant, email } of gone) {
          await audit(tx, call, 'sso.identity_unlinked', {
            target: { kind: 'user', id: userId, name: email },
            details: { provider, tenant }
          })
        }
      })
      return { status: 204 }
    }
  }
}
