import type { Queryable } from '../../../shared/db.ts'
import { insertPersonAudit } from '../../../shared/store/audit.ts'
import { deleteIdentity, type IdentityRow, listIdentities } from '../../../shared/store/identities.ts'
import { findBoundOrganizations } from '../../../shared/store/sso-connections.ts'
import type { User } from '../../../shared/store/users.ts'

/** Is the identity's tenant bound to the domain of this very address by who owns that domain? */
async function isProven(tx: Queryable, identity: IdentityRow, email: string): Promise<boolean> {
  if (identity.email !== email) return false
  const bound = await findBoundOrganizations(tx, identity)
  return bound.some(({ domain }) => email.endsWith(`@${domain}`))
}

/**
 * For when somebody proves that the mailbox is theirs: whoever signed up with their address before may have linked an
 * identity to the account, to come back by it. In a transaction of the person that holds their row.
 */
export async function unlinkUnproven(
  tx: Queryable,
  { id, email }: User,
  from: { address: string; requestId: string }
): Promise<void> {
  for (const identity of await listIdentities(tx, id)) {
    if (await isProven(tx, identity, email)) continue
    await deleteIdentity(tx, id, identity)
    const { provider, tenant } = identity
    const details = { provider, tenant, reason: 'password_reset' }
    await insertPersonAudit(tx, { userId: id, action: 'sso.identity_unlinked', details, ...from })
  }
}
