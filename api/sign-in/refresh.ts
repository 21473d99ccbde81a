import { AppError } from '../../shared/errors.ts'
import { networkOf } from '../../shared/network.ts'
import { insertAudit } from '../../shared/store/audit.ts'
import { listMemberships } from '../../shared/store/memberships.ts'
import { findRefreshToken, type RefreshTokenOwner, spendRefreshToken } from '../../shared/store/refresh-tokens.ts'
import { endSession, lockSession, type SessionRow, touchSession } from '../../shared/store/sessions.ts'
import type { Parts } from '../parts.ts'
import { IDLE_MS, type Origin, type Sessions } from './sessions.ts'

/** A client that lost the answer asks again with the same token; a thief comes later, or from elsewhere. */
const GRACE_MS = 10_000

interface Refreshed {
  session: SessionRow
  refreshToken: string
}

function isOpen(session: SessionRow | undefined, now: number): session is SessionRow {
  if (session === undefined || session.ended_at !== null) return false
  return session.expires_at.getTime() > now && now - session.last_used_at.getTime() <= IDLE_MS
}

/** What tells one client of a person from another. */
function clientOf({ address, userAgent }: Origin): string {
  return JSON.stringify([networkOf(address), userAgent])
}

/** Unknown, used, ended, too old: all alike, so that nothing is learned by trying. */
function refuse(): AppError {
  return new AppError('unauthorized', { detail: 'The refresh token is not valid, or no longer. Sign in again.' })
}

/**
 * Exchanges refresh tokens. All tokens of a session are one family: when one comes again that was used before, somebody
 * has a copy, and nobody can tell who is the thief, so the session ends for both (RFC 9700 §4.14.2).
 */
export function createRefresh({ db, secrets, clock }: Parts, sessions: Sessions) {
  /** Null: no token of an open session. Ending it for a re-used one must be committed, so nothing is thrown here. */
  function exchange(owner: RefreshTokenOwner, digest: Buffer, origin: Origin): Promise<Refreshed | null> {
    const { session_id: id, user_id: userId, organization_id: organizationId } = owner
    return db.person(userId, organizationId, async (tx) => {
      const session = await lockSession(tx, userId, id)
      const now = clock()
      if (!isOpen(session, now)) return null
      const client = clientOf(origin)
      const use = { at: new Date(now), by: secrets.digest(client) }
      const before = await spendRefreshToken(tx, digest, use)
      if (before === null || (now - before.at.getTime() <= GRACE_MS && secrets.matches(client, before.by))) {
        await touchSession(tx, id, new Date(now))
        return { session, refreshToken: await sessions.giveRefreshToken(tx, id) }
      }
      await endSession(tx, id, new Date(now))
      await insertAudit(tx, {
        organizationId,
        actor: { kind: 'user', id: userId },
        action: 'session.ended',
        target: { kind: 'session', id },
        details: { reason: 'refresh_token_used_twice' },
        address: origin.address,
        requestId: origin.requestId
      })
      return null
    })
  }

  /** @throws AppError unauthorized, organization_suspended */
  return async (refreshToken: string, origin: Origin): Promise<{ jwt: string; refreshToken: string }> => {
    const found = await secrets.find(refreshToken, (digest) => findRefreshToken(db, digest))
    if (found === undefined) throw refuse()
    const { row: owner, digest } = found
    const { user_id: userId, organization_id: organizationId } = owner
    const membership = (await listMemberships(db, userId)).find((one) => one.organization_id === organizationId)
    if (membership === undefined) throw refuse()
    if (membership.suspended) throw new AppError('organization_suspended')
    const refreshed = await exchange(owner, digest, origin)
    if (refreshed === null) throw refuse()
    const { id, method, authenticated_at: authenticatedAt } = refreshed.session
    return {
      jwt: await sessions.issueJwt({ id, userId, organizationId, method, authenticatedAt }),
      refreshToken: refreshed.refreshToken
    }
  }
}
