import { normalizeEmail } from '../../api/sign-in/email.ts'
import { accountKey, createSignInLimits } from '../../api/sign-in/limits.ts'
import { voidEmailChange } from '../../shared/store/email-changes.ts'
import { deleteIdentity, listIdentities } from '../../shared/store/identities.ts'
import { listMemberships } from '../../shared/store/memberships.ts'
import { voidPasswordResets } from '../../shared/store/password-resets.ts'
import { endSessionsOf } from '../../shared/store/sessions.ts'
import { findUserByEmail, setPasswordHash } from '../../shared/store/users.ts'
import { makePassword } from './new-password.ts'
import { auditOperator, type Operator, Refusal } from './operator.ts'

/** Who tried the old password in vain need not wait to enter the new one. */
async function forgive({ redis, redisPrefix: prefix, secrets, clock, warn }: Operator, email: string): Promise<void> {
  const { account } = createSignInLimits({ client: redis.client, prefix, scale: 1, clock })
  try {
    await account.forget(accountKey(secrets, email))
  } catch (error) {
    const { message } = error as Error
    warn(`It is done, but after failed sign-ins the account may have to wait up to 15 minutes (Redis: ${message}).`)
  }
}

function counted(count: number, thing: string): string {
  return count === 1 ? `1 ${thing} was` : `${count} ${thing.replace(/y$/, 'ie')}s were`
}

/**
 * Sets a new password that is shown once, and ends all sessions with their refresh tokens, open links in mails and waits
 * of the person; `unlink`: single sign-on is no way in any more either.
 */
export async function resetPassword(operator: Operator, givenEmail: string, unlink: boolean): Promise<void> {
  const { db, clock, say } = operator
  const email = normalizeEmail(givenEmail)
  const user = await findUserByEmail(db, email)
  if (user === undefined) throw new Refusal(`There is no account ${email}.`)
  const { password, passwordHash } = await makePassword()
  const { ended, unlinked } = await db.transaction(async (tx) => {
    const at = new Date(clock())
    await voidPasswordResets(tx, user.id, at)
    await setPasswordHash(tx, user.id, passwordHash)
    await voidEmailChange(tx, user.id)
    const ended = await endSessionsOf(tx, user.id, null, at)
    const unlinked = unlink ? await listIdentities(tx, user.id) : []
    for (const identity of unlinked) await deleteIdentity(tx, user.id, identity)
    for (const { organization_id: organizationId } of await listMemberships(tx, user.id)) {
      const about = { organizationId, target: { kind: 'user', id: user.id, name: email } }
      await auditOperator(tx, { ...about, action: 'password.reset', details: { sessionsEnded: ended } })
      for (const { provider, tenant } of unlinked) {
        const details = { provider, tenant, reason: 'password_reset' }
        await auditOperator(tx, { ...about, action: 'sso.identity_unlinked', details })
      }
    }
    return { ended, unlinked: unlinked.length }
  })
  await forgive(operator, email)
  say(`password  ${password}`)
  say('It is shown only now; the person should change it after the next sign-in.')
  say(`${counted(ended, 'session')} ended.`)
  if (unlink) say(`${counted(unlinked, 'identity')} unlinked.`)
}
