import { normalizeEmail } from '../../api/sign-in/email.ts'
import { listMemberships } from '../../shared/store/memberships.ts'
import { voidPasswordResets } from '../../shared/store/password-resets.ts'
import { endSessionsOf } from '../../shared/store/sessions.ts'
import { findUserByEmail, setPasswordHash } from '../../shared/store/users.ts'
import { makePassword } from './new-password.ts'
import { auditOperator, type Operator, Refusal } from './operator.ts'

/** Sets a new password that is shown once, and ends all sessions and open reset links of the person. */
export async function resetPassword({ db, clock, say }: Operator, givenEmail: string): Promise<void> {
  const email = normalizeEmail(givenEmail)
  const user = await findUserByEmail(db, email)
  if (user === undefined) throw new Refusal(`There is no account ${email}.`)
  const { password, passwordHash } = await makePassword()
  const sessionsEnded = await db.transaction(async (tx) => {
    const at = new Date(clock())
    await voidPasswordResets(tx, user.id, at)
    await setPasswordHash(tx, user.id, passwordHash)
    const ended = await endSessionsOf(tx, user.id, null, at)
    for (const { organization_id: organizationId } of await listMemberships(tx, user.id)) {
      const target = { kind: 'user', id: user.id, name: email }
      await auditOperator(tx, { organizationId, action: 'password.reset', target, details: { sessionsEnded: ended } })
    }
    return ended
  })
  say(`password  ${password}`)
  say('It is shown only now; the person should change it after the next sign-in.')
  say(sessionsEnded === 1 ? '1 session was ended.' : `${sessionsEnded} sessions were ended.`)
}
