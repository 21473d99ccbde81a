import { AppError } from '../../../shared/errors.ts'
import type { Parts } from '../../parts.ts'
import type { Origin, SignIn } from '../sessions.ts'
import { createAdmission, type Proven } from './admit.ts'
import { createPendingIdentities } from './pending.ts'

/** The identity that waits in a browser becomes the account's whose password was entered there. */
export interface Connect {
  /** Before a password is judged. @throws AppError sso_state_invalid, sign_in_first where it is another account's */
  require(email: string, cookieHeader: string | undefined): Promise<void>
  /**
   * Links it, which it is good for once, and lets the person in where it leads.
   * @throws AppError sso_state_invalid, sign_in_first, and whatever the sign-in by the identity would meet with
   */
  admit(proven: Proven, origin: Origin): Promise<SignIn>
}

export function createConnect(parts: Parts): Connect {
  const pending = createPendingIdentities(parts)
  const admission = createAdmission(parts)

  return {
    require: async (email, cookieHeader) => {
      const waiting = await pending.find(cookieHeader)
      if (waiting === null) throw new AppError('sso_state_invalid')
      const wanted = waiting.identity.email
      if (email === wanted) return
      throw new AppError('sign_in_first', { detail: `The account that can be connected is the one of ${wanted}.` })
    },

    admit: async (proven, origin) => {
      const asked = await pending.take(origin.cookie)
      if (asked === null) throw new AppError('sso_state_invalid')
      const admitted = await admission.admit(asked, origin, proven)
      return { ...admitted, method: asked.identity.provider }
    }
  }
}
