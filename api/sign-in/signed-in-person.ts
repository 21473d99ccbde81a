import { AppError } from '../../shared/errors.ts'
import { findSessionOf } from '../../shared/store/sessions.ts'
import { findUser } from '../../shared/store/users.ts'
import type { UserPrincipal } from '../http/authenticate.ts'
import type { Parts } from '../parts.ts'
import type { SignIn } from './sessions.ts'

/**
 * Who is signed in, and by what proof: for a session in another of their organizations, which is no new sign-in. A JWT
 * runs on after sign-out, but begins no further session then.
 * @throws AppError unauthorized
 */
export function signedInPerson(
  { db, clock }: Parts,
  { userId, organizationId, sessionId }: UserPrincipal
): Promise<Pick<SignIn, 'user' | 'method'> & { authenticatedAt: number; expiresAt: number }> {
  return db.person(userId, organizationId, async (tx) => {
    const user = await findUser(tx, userId)
    const session = await findSessionOf(tx, userId, sessionId)
    const isOpen = session !== undefined && session.ended_at === null && session.expires_at.getTime() > clock()
    if (user === undefined || !isOpen) {
      throw new AppError('unauthorized', { detail: 'You have signed out; sign in again.' })
    }
    return {
      user,
      method: session.method,
      authenticatedAt: session.authenticated_at.getTime(),
      // Else whoever found a cookie could prolong it for ever.
      expiresAt: session.expires_at.getTime()
    }
  })
}
