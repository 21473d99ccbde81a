import type { Queryable } from '../db.ts'

/** In a transaction of the session's person. */
export async function insertRefreshToken(
  db: Queryable,
  { digest, pepperVersion, sessionId }: { digest: Buffer; pepperVersion: number; sessionId: string }
): Promise<void> {
  await db.query('insert into refresh_tokens (digest, pepper_version, session_id) values ($1, $2, $3)', [
    digest,
    pepperVersion,
    sessionId
  ])
}

/** The session that a refresh token belongs to, and whose it is. */
export interface RefreshTokenOwner {
  session_id: string
  user_id: string
  organization_id: string
}

/** System-wide: the token comes before the person is known. Used ones and those of ended sessions are found as well. */
export async function findRefreshToken(db: Queryable, digest: Buffer): Promise<RefreshTokenOwner | undefined> {
  const [row] = await db.query<RefreshTokenOwner>(
    'select session_id, user_id, organization_id from find_refresh_token($1)',
    [digest]
  )
  return row
}

export interface TokenUse {
  at: Date
  /** Digest of the client. */
  by: Buffer
}

/**
 * In a transaction of the person that holds the lock of the session: uses the token. Null, or the use before, which
 * stays the one that is remembered.
 */
export async function spendRefreshToken(db: Queryable, digest: Buffer, use: TokenUse): Promise<TokenUse | null> {
  const rows = await db.query(
    'update refresh_tokens set used_at = $2, used_by = $3 where digest = $1 and used_at is null returning digest',
    [digest, use.at, use.by]
  )
  if (rows.length > 0) return null
  const [row] = await db.query<{ used_at: Date; used_by: Buffer | null }>(
    'select used_at, used_by from refresh_tokens where digest = $1',
    [digest]
  )
  return { at: row?.used_at ?? new Date(0), by: row?.used_by ?? Buffer.alloc(0) }
}
