import type { UserRole } from '../contract/permissions.ts'
import type { Queryable } from '../db.ts'

export type SignInMethod = 'password' | 'entra' | 'google'

export interface NewSession {
  id: string
  userId: string
  organizationId: string
  cookieDigest: Buffer
  pepperVersion: number
  method: SignInMethod
  authenticatedAt: Date
  expiresAt: Date
  userAgent: string | null
  address: string | null
}

/** In a transaction of the person. */
export async function insertSession(db: Queryable, session: NewSession): Promise<void> {
  await db.query(
    `insert into sessions (id, user_id, organization_id, cookie_digest, pepper_version, method, authenticated_at, expires_at,
       user_agent, address)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      session.id,
      session.userId,
      session.organizationId,
      session.cookieDigest,
      session.pepperVersion,
      session.method,
      session.authenticatedAt,
      session.expiresAt,
      session.userAgent,
      session.address
    ]
  )
}

/** A session with the person and the organization that it is for. */
export interface FoundSession {
  id: string
  user_id: string
  email: string
  name: string
  organization_id: string
  organization_name: string
  plan: string
  role: UserRole
  suspended: boolean
  method: SignInMethod
  authenticated_at: Date
  last_used_at: Date
  expires_at: Date
}

/** System-wide: the cookie comes before the tenant is known. Ended sessions, and those of who left, are not found. */
export async function findSession(db: Queryable, cookieDigest: Buffer): Promise<FoundSession | undefined> {
  const [row] = await db.query<FoundSession>('select * from find_session($1)', [cookieDigest])
  return row
}

/** In a transaction of the person, or of the organization. Returns whether it was still open. */
export async function endSession(db: Queryable, id: string, at: Date): Promise<boolean> {
  const rows = await db.query('update sessions set ended_at = $2 where id = $1 and ended_at is null returning id', [
    id,
    at
  ])
  return rows.length > 0
}

/** In a transaction of the person: every session of theirs but the one to keep. */
export async function endSessionsOf(db: Queryable, userId: string, keepId: string | null, at: Date): Promise<void> {
  await db.query(
    'update sessions set ended_at = $3 where user_id = $1 and id is distinct from $2 and ended_at is null',
    [userId, keepId, at]
  )
}

/** In a transaction of the person. */
export async function touchSession(db: Queryable, id: string, at: Date): Promise<void> {
  await db.query('update sessions set last_used_at = $2 where id = $1', [id, at])
}
