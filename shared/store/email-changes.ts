import type { Queryable } from '../db.ts'

export interface NewEmailChange {
  userId: string
  email: string
  digest: Buffer
  pepperVersion: number
  expiresAt: Date
}

/** In a transaction of the person: in the place of the one before. */
export async function putEmailChange(db: Queryable, change: NewEmailChange): Promise<void> {
  const { userId, email, digest, pepperVersion, expiresAt } = change
  await db.query(
    `insert into email_changes (user_id, email, digest, pepper_version, expires_at) values ($1, $2, $3, $4, $5)
     on conflict (user_id) do update set email = excluded.email, digest = excluded.digest,
       pepper_version = excluded.pepper_version, created_at = now(), expires_at = excluded.expires_at`,
    [userId, email, digest, pepperVersion, expiresAt]
  )
}

export interface FoundEmailChange {
  user_id: string
  email: string
  expires_at: Date
}

/** System-wide: the link comes before the person is known. */
export async function findEmailChange(db: Queryable, digest: Buffer): Promise<FoundEmailChange | undefined> {
  const [row] = await db.query<FoundEmailChange>('select * from find_email_change($1)', [digest])
  return row
}

/** In a transaction of the person. Returns whether it was still there: of two uses at once one wins. */
export async function takeEmailChange(db: Queryable, digest: Buffer): Promise<boolean> {
  return (await db.query('delete from email_changes where digest = $1 returning digest', [digest])).length > 0
}

/** In a transaction of the person: what was asked for until now comes to nothing. */
export async function voidEmailChange(db: Queryable, userId: string): Promise<void> {
  await db.query('delete from email_changes where user_id = $1', [userId])
}
