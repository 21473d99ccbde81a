import type { SsoProvider } from '../contract/sso.ts'
import { type Queryable, sqlState } from '../db.ts'
import { AppError } from '../errors.ts'

/** A person at an identity provider, and nothing that they or their administrator could choose freely. */
export interface IdentityKey {
  provider: SsoProvider
  /** Entra's `tid`, Google's `hd`. */
  tenant: string
  /** Entra's `oid`, Google's `sub`. */
  subject: string
}

export interface IdentityRow extends IdentityKey {
  email: string | null
  created_at: Date
}

/** System-wide: whose identity this is, is what is asked. */
export async function findIdentity(db: Queryable, { provider, tenant, subject }: IdentityKey): Promise<string | null> {
  const [row] = await db.query<{ user_id: string | null }>('select find_identity($1, $2, $3) as user_id', [
    provider,
    tenant,
    subject
  ])
  return row?.user_id ?? null
}

/** In a transaction of the person. @throws AppError sso_identity_taken when it is linked already, to whomever. */
export async function insertIdentity(
  db: Queryable,
  { provider, tenant, subject, userId, email }: IdentityKey & { userId: string; email: string | null }
): Promise<void> {
  try {
    await db.query('insert into identities (provider, tenant, subject, user_id, email) values ($1, $2, $3, $4, $5)', [
      provider,
      tenant,
      subject,
      userId,
      email
    ])
  } catch (error) {
    if (sqlState(error) === '23505') throw new AppError('sso_identity_taken', { cause: error })
    throw error
  }
}

/** In a transaction of the person; oldest first. */
export function listIdentities(db: Queryable, userId: string): Promise<IdentityRow[]> {
  return db.query<IdentityRow>(
    'select provider, tenant, subject, email, created_at from identities where user_id = $1 order by created_at, tenant',
    [userId]
  )
}

/** In a transaction of the person. */
export async function deleteIdentities(db: Queryable, userId: string, provider: SsoProvider): Promise<void> {
  await db.query('delete from identities where user_id = $1 and provider = $2', [userId, provider])
}

/** In a transaction of the person. */
export async function deleteIdentity(
  db: Queryable,
  userId: string,
  { provider, tenant, subject }: IdentityKey
): Promise<void> {
  await db.query('delete from identities where user_id = $1 and provider = $2 and tenant = $3 and subject = $4', [
    userId,
    provider,
    tenant,
    subject
  ])
}
