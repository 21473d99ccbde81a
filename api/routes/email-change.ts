import { AppError } from '../../shared/errors.ts'
import { randomBase62 } from '../../shared/identity/api-key.ts'
import { insertPersonAudit } from '../../shared/store/audit.ts'
import { findEmailChange, putEmailChange, takeEmailChange } from '../../shared/store/email-changes.ts'
import { voidPasswordResets } from '../../shared/store/password-resets.ts'
import { lockSession } from '../../shared/store/sessions.ts'
import { findUserByEmail, lockUser, setEmail } from '../../shared/store/users.ts'
import { requireRecentProof } from '../http/authenticate.ts'
import type { Handlers } from '../http/contract.ts'
import { requireQuota } from '../http/rate-limit-headers.ts'
import { confirmEmailMail, emailChangeAskedMail, emailChangedMail } from '../mail/email-change-mail.ts'
import type { Addresses, Parts } from '../parts.ts'
import { normalizeEmail } from '../sign-in/email.ts'
import { createGuard } from '../sign-in/guard.ts'

type EmailHandlers = Pick<Handlers, 'changeEmail' | 'confirmEmail'>

/** A link is good for an hour. */
const LIFE_MS = 3_600_000
const TOKEN_LENGTH = 43
/** Of one person in a minute: each is a mail to somebody who may not have asked for it, or tells whether they are here. */
const PER_MINUTE = 5

export function createEmailHandlers(parts: Parts, { appUrl }: Addresses): EmailHandlers {
  const { db, secrets, mail, afterwards, counts, rateLimitScale, clock } = parts
  const guard = createGuard(parts)
  const quota = counts.limit('email-changes', Math.ceil(PER_MINUTE * rateLimitScale))

  return {
    changeEmail: async ({ principal, body, address, requestId }) => {
      // Whoever commands the address commands the account, so a JWT that was found somewhere must not do.
      requireRecentProof(principal, clock())
      const { userId, sessionId } = principal
      if (!mail.configured) throw new AppError('mail_not_configured', { detail: 'The new address cannot be proven.' })
      requireQuota(quota.take(userId))
      const email = normalizeEmail(body.email)
      if ((await findUserByEmail(db, email)) !== undefined) throw new AppError('email_in_use')
      const token = `pge_${randomBase62(TOKEN_LENGTH)}`
      const before = await db.person(userId, null, async (tx) => {
        const user = await lockUser(tx, userId)
        // A JWT outlives its session: who was signed out by a new password asks for nothing any more.
        const session = await lockSession(tx, userId, sessionId)
        if (user === undefined || session?.ended_at !== null) throw new AppError('unauthorized')
        const kept = { digest: secrets.digest(token), pepperVersion: secrets.version }
        await putEmailChange(tx, { ...kept, userId, email, expiresAt: new Date(clock() + LIFE_MS) })
        await insertPersonAudit(tx, { userId, action: 'account.email_change_asked', address, requestId })
        return user.email
      })
      afterwards.run('notice of a wanted e-mail address', () => mail.send(emailChangeAskedMail(before, email, appUrl)))
      // Behind the #, which browsers send to no server and name to no other site.
      const letter = confirmEmailMail(email, `${appUrl}/confirm-email#${token}`)
      afterwards.run('mail to confirm an e-mail address', () => mail.send(letter))
      return { status: 202 }
    },

    confirmEmail: async ({ body, address, requestId }) => {
      guard.ask('reset', address)
      const found = await secrets.find(body.token, (digest) => findEmailChange(db, digest))
      if (found === undefined || found.row.expires_at.getTime() <= clock()) throw new AppError('reset_invalid')
      const { user_id: userId, email } = found.row
      const before = await db.person(userId, null, async (tx) => {
        const user = await lockUser(tx, userId)
        if (user === undefined || !(await takeEmailChange(tx, found.digest))) throw new AppError('reset_invalid')
        const details = { email: { from: user.email, to: email } }
        await insertPersonAudit(tx, { userId, action: 'account.changed', details, address, requestId })
        await setEmail(tx, userId, email)
        // They went to the mailbox of before.
        await voidPasswordResets(tx, userId, new Date(clock()))
        return user.email
      })
      afterwards.run('notice of a changed e-mail address', () => mail.send(emailChangedMail(before, email)))
      return { status: 204 }
    }
  }
}
