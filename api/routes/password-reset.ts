import { AppError } from '../../shared/errors.ts'
import { randomBase62 } from '../../shared/identity/api-key.ts'
import { insertPersonAudit } from '../../shared/store/audit.ts'
import { voidEmailChange } from '../../shared/store/email-changes.ts'
import {
  countPasswordResets,
  deleteOldPasswordResets,
  findPasswordReset,
  insertPasswordReset,
  usePasswordReset,
  voidPasswordResets
} from '../../shared/store/password-resets.ts'
import { endSessionsOf } from '../../shared/store/sessions.ts'
import { findUser, findUserByEmail, setPasswordHash, type User } from '../../shared/store/users.ts'
import type { Handlers } from '../http/contract.ts'
import { resetMail, ssoOnlyMail } from '../mail/reset-mail.ts'
import type { Addresses, Parts } from '../parts.ts'
import { normalizeEmail } from '../sign-in/email.ts'
import { createGuard } from '../sign-in/guard.ts'
import type { Passwords } from '../sign-in/password.ts'
import { unlinkUnproven } from '../sign-in/sso/unlink-unproven.ts'

interface Options {
  parts: Parts
  addresses: Addresses
  passwords: Passwords
}

type ResetHandlers = Pick<Handlers, 'forgotPassword' | 'resetPassword'>

/** A link is good for an hour. */
const LIFE_MS = 3_600_000
/** Mails to one person within that hour; more would only fill the mailbox. */
const MAX_MAILS = 5
const TOKEN_LENGTH = 43

/** Where a request came from, for the audit trail. */
interface From {
  address: string
  requestId: string
}

function createSendLink({ db, secrets, mail, clock, log }: Parts, { appUrl }: Addresses) {
  /** Null: this person got enough of them. */
  function makeToken(user: User, { address, requestId }: From): Promise<string | null> {
    const now = clock()
    return db.person(user.id, null, async (tx) => {
      await deleteOldPasswordResets(tx, user.id, new Date(now))
      if ((await countPasswordResets(tx, user.id)) >= MAX_MAILS) return null
      const token = `pgf_${randomBase62(TOKEN_LENGTH)}`
      const kept = { digest: secrets.digest(token), pepperVersion: secrets.version }
      await insertPasswordReset(tx, { ...kept, userId: user.id, expiresAt: new Date(now + LIFE_MS) })
      await insertPersonAudit(tx, { userId: user.id, action: 'password.reset_asked', address, requestId })
      return token
    })
  }

  return async (email: string, from: From): Promise<void> => {
    if (!mail.configured) {
      log.info('a password was forgotten, and SMTP_URL is not set: the operator can reset it')
      return
    }
    const user = await findUserByEmail(db, email)
    if (user === undefined) return
    const token = await makeToken(user, from)
    if (token === null) return
    // A way in that the organization closed on purpose is not opened by a mailbox.
    if (user.password_hash === null) await mail.send(ssoOnlyMail(email, appUrl))
    // Behind the #, which browsers send to no server and name to no other site.
    else await mail.send(resetMail(email, `${appUrl}/reset-password#${token}`))
  }
}

export function createPasswordResetHandlers({ parts, addresses, passwords }: Options): ResetHandlers {
  const { db, secrets, afterwards, clock } = parts
  const guard = createGuard(parts)
  const sendLink = createSendLink(parts, addresses)

  return {
    forgotPassword: ({ body, address, requestId }) => {
      guard.ask('forgot', address)
      const email = normalizeEmail(body.email)
      afterwards.run('mail to reset a password', () => sendLink(email, { address, requestId }))
      return { status: 202 }
    },

    resetPassword: async ({ body, address, requestId }) => {
      guard.ask('reset', address)
      const found = await secrets.find(body.token, (digest) => findPasswordReset(db, digest))
      if (found === undefined || found.row.used_at !== null || found.row.expires_at.getTime() <= clock()) {
        throw new AppError('reset_invalid')
      }
      passwords.judge(body.password)
      const passwordHash = await passwords.hashNew(body.password)
      const userId = found.row.user_id
      const user = await db.person(userId, null, async (tx) => {
        const at = new Date(clock())
        if (!(await usePasswordReset(tx, found.digest, at))) throw new AppError('reset_invalid')
        await voidPasswordResets(tx, userId, at)
        await setPasswordHash(tx, userId, passwordHash)
        await voidEmailChange(tx, userId)
        const sessionsEnded = await endSessionsOf(tx, userId, null, at)
        const details = { sessionsEnded }
        await insertPersonAudit(tx, { userId, action: 'password.reset', details, address, requestId })
        const person = await findUser(tx, userId)
        if (person !== undefined) await unlinkUnproven(tx, person, { address, requestId })
        return person
      })
      if (user !== undefined) await guard.forgive(user.email)
      return { status: 204 }
    }
  }
}
