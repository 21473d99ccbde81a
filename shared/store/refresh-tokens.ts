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
