import type { Queryable } from '../db.ts'

export type SigningKeyState = 'next' | 'active' | 'retiring'

export interface SigningKeyRow {
  kid: string
  state: SigningKeyState
  state_since: Date
  public_jwk: Record<string, unknown>
  private_sealed: Buffer
}

/** The keys of the installation; they belong to no tenant. */
export function listSigningKeys(db: Queryable): Promise<SigningKeyRow[]> {
  return db.query<SigningKeyRow>(
    'select kid, state, state_since, public_jwk, private_sealed from signing_keys order by created_at, kid'
  )
}

/** In a transaction: of all processes one at a time changes the keys. Held until its end. */
export async function lockSigningKeys(db: Queryable): Promise<void> {
  await db.query("select pg_advisory_xact_lock(hashtext('pulsegate/signing-keys'))")
}

export async function insertSigningKey(db: Queryable, key: SigningKeyRow): Promise<void> {
  await db.query(
    'insert into signing_keys (kid, state, state_since, public_jwk, private_sealed) values ($1, $2, $3, $4, $5)',
    [key.kid, key.state, key.state_since, JSON.stringify(key.public_jwk), key.private_sealed]
  )
}

export async function moveSigningKey(db: Queryable, kid: string, state: SigningKeyState, since: Date): Promise<void> {
  await db.query('update signing_keys set state = $2, state_since = $3 where kid = $1', [kid, state, since])
}

export async function deleteSigningKeys(db: Queryable, kids: readonly string[]): Promise<void> {
  await db.query('delete from signing_keys where kid = any($1)', [kids])
}
