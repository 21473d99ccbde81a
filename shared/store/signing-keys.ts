import type { Queryable } from '../db.ts'

export interface SigningKeyRow {
  kid: string
  state: 'next' | 'active' | 'retiring'
  public_jwk: Record<string, unknown>
  private_sealed: Buffer
}

/** The keys of the installation; they belong to no tenant. */
export function listSigningKeys(db: Queryable): Promise<SigningKeyRow[]> {
  return db.query<SigningKeyRow>(
    'select kid, state, public_jwk, private_sealed from signing_keys order by created_at, kid'
  )
}

/** Does nothing when another process was first: there is one active key (unique index). */
export async function insertActiveSigningKey(db: Queryable, key: Omit<SigningKeyRow, 'state'>): Promise<void> {
  await db.query(
    `insert into signing_keys (kid, state, public_jwk, private_sealed) values ($1, 'active', $2, $3)
     on conflict do nothing`,
    [key.kid, JSON.stringify(key.public_jwk), key.private_sealed]
  )
}
