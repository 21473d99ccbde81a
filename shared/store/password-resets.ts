import type { Queryable } from '../db.ts'

export interface NewPasswordReset {
  userId: string
  digest: Buffer
  pepperVersion: number
  expiresAt: Date
}

/** In a transaction of the person. */
export async function insertPasswordReset(db: Queryable, reset: NewPasswordReset): Promise<void> {
  await db.query('insert into password_resets (digest, pepper_version, user_id, expires_at) values ($1, $2, $3, $4)', [
    reset.digest,
    reset.pepperVersion,
    reset.userId,
    reset.expiresAt
  ])
}

export interface FoundPasswordReset {
  user_id: string
  expires_at: Date
  used_at: Date | null
}

/** System-wide: the link comes before the person is known. */
export async function findPasswordReset(db: Queryable, digest: Buffer): Promise<FoundPasswordReset | undefined> {
  const [row] = await db.query<FoundPasswordReset>('select * from find_password_reset($1)', [digest])
  return row
}

/** In a transaction of the person: how many links there are, used ones included. */
export async function countPasswordResets(db: Queryable, userId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>('select count(*) from password_resets where user_id = $1', [userId])
  return row?.count ?? 0
}

/** In a transaction of the person. Returns whether it was still good: of two uses at once one wins. */
export async function usePasswordReset(db: Queryable, digest: Buffer, at: Date): Promise<boolean> {
  const rows = await db.query(
    'update password_resets set used_at = $2 where digest = $1 and used_at is null and expires_at > $2 returning digest',
    [digest, at]
  )
  return rows.length > 0
}

/** In a transaction of the person: those that have run out. */
export async function deleteOldPasswordResets(db: Queryable, userId: string, now: Date): Promise<void> {
  await db.query('delete from password_resets where user_id = $1 and expires_at <= $2', [userId, now])
}

/** In a transaction of the person: no link that was asked for until now works any more. They still count. */
export async function voidPasswordResets(db: Queryable, userId: string, at: Date): Promise<void> {
  await db.query('update password_resets set used_at = $2 where user_id = $1 and used_at is null', [userId, at])
}
