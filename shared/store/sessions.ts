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
  createdAt: Date
  expiresAt: Date
  userAgent: string | null
  address: string | null
}

/** In a transaction of the person. */
export async function insertSession(db: Queryable, session: NewSession): Promise<void> {
  await db.query(
    `insert into sessions (id, user_id, organization_id, cookie_digest, pepper_version, method, authenticated_at,
       created_at, last_used_at, expires_at, user_agent, address)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $11)`,
    [
      session.id,
      session.userId,
      session.organizationId,
      session.cookieDigest,
      session.pepperVersion,
      session.method,
      session.authenticatedAt,
      session.createdAt,
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

/** In a transaction of the person: every session of theirs but the one to keep. Returns how many were open. */
export async function endSessionsOf(db: Queryable, userId: string, keepId: string | null, at: Date): Promise<number> {
  const rows = await db.query(
    'update sessions set ended_at = $3 where user_id = $1 and id is distinct from $2 and ended_at is null returning id',
    [userId, keepId, at]
  )
  return rows.length
}

/**
 * In a transaction of the organization: every session in it but the one to keep, and that one too where a password opened
 * it. Returns how many were open.
 */
export async function endSessionsIn(db: Queryable, organizationId: string, keepId: string, at: Date): Promise<number> {
  const rows = await db.query(
    `update sessions set ended_at = $3
     where organization_id = $1 and ended_at is null and (id <> $2 or method = 'password') returning id`,
    [organizationId, keepId, at]
  )
  return rows.length
}

/** In a transaction of the person. */
export async function touchSession(db: Queryable, id: string, at: Date): Promise<void> {
  await db.query('update sessions set last_used_at = $2 where id = $1', [id, at])
}

/** A session as its person sees it. */
export interface SessionRow {
  id: string
  organization_id: string
  method: SignInMethod
  authenticated_at: Date
  created_at: Date
  last_used_at: Date
  expires_at: Date
  ended_at: Date | null
  user_agent: string | null
  address: string | null
}

const SELECT = `select id, organization_id, method, authenticated_at, created_at, last_used_at, expires_at, ended_at,
    user_agent, address
  from sessions where user_id = $1`

/** In a transaction of the person. */
export async function findSessionOf(db: Queryable, userId: string, id: string): Promise<SessionRow | undefined> {
  const [row] = await db.query<SessionRow>(`${SELECT} and id = $2`, [userId, id])
  return row
}

/** The same; nobody else uses or ends it until the transaction is over. */
export async function lockSession(db: Queryable, userId: string, id: string): Promise<SessionRow | undefined> {
  const [row] = await db.query<SessionRow>(`${SELECT} and id = $2 for update`, [userId, id])
  return row
}

/**
 * In a transaction of the person: what is open, newest first (ids are UUIDv7). `after` is the id that the page before
 * ended with.
 */
export function listSessionsOf(
  db: Queryable,
  userId: string,
  page: { now: Date; usedSince: Date; after: string | null; limit: number }
): Promise<SessionRow[]> {
  return db.query<SessionRow>(
    `${SELECT} and ended_at is null and expires_at > $2 and last_used_at >= $3 and ($4::uuid is null or id < $4)
     order by id desc limit $5`,
    [userId, page.now, page.usedSince, page.after, page.limit]
  )
}

/** In a transaction of the person: rows that can be of no use any more. */
export async function deleteOldSessions(db: Queryable, userId: string, before: Date): Promise<void> {
  await db.query('delete from sessions where user_id = $1 and (expires_at < $2 or ended_at < $2)', [userId, before])
}

/** In a transaction of the person: every session that was opened this way, but the one to keep. */
export async function endSessionsByMethod(
  db: Queryable,
  userId: string,
  { method, keepId, at }: { method: SignInMethod; keepId: string; at: Date }
): Promise<void> {
  await db.query(
    'update sessions set ended_at = $4 where user_id = $1 and method = $2 and id <> $3 and ended_at is null',
    [userId, method, keepId, at]
  )
}
