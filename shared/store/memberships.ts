import type { UserRole } from '../contract/permissions.ts'
import type { Queryable } from '../db.ts'

export interface Membership {
  organization_id: string
  organization_name: string
  plan: string
  role: UserRole
  suspended: boolean
  sso_required: boolean
}

/** System-wide, oldest first: which organization is meant is decided by what comes back. */
export function listMemberships(db: Queryable, userId: string): Promise<Membership[]> {
  return db.query<Membership>('select * from find_memberships($1)', [userId])
}

export async function insertMembership(
  db: Queryable,
  { organizationId, userId, role }: { organizationId: string; userId: string; role: UserRole }
): Promise<void> {
  await db.query('insert into memberships (organization_id, user_id, role) values ($1, $2, $3)', [
    organizationId,
    userId,
    role
  ])
}

export interface MemberRow {
  id: string
  name: string
  email: string
  role: UserRole
  joined_at: Date
  /** `joined_at` in whole microseconds, as exact as the table. */
  joined_us: number
  last_seen_at: Date | null
}

/** Rows of `member`, to be narrowed. */
const MEMBERS = `
  select * from (
    select u.id, u.name, u.email, m.role, m.created_at as joined_at,
      (extract(epoch from m.created_at) * 1000000)::bigint as joined_us,
      (select max(s.last_used_at) from sessions s
       where s.organization_id = m.organization_id and s.user_id = m.user_id) as last_seen_at
    from memberships m join users u on u.id = m.user_id
    where m.organization_id = $1) as member`

/** Who joined last comes first, from the one after `after`. */
export function listMembers(
  db: Queryable,
  organizationId: string,
  after: { joinedUs: number; id: string } | null,
  limit: number
): Promise<MemberRow[]> {
  return db.query<MemberRow>(
    `${MEMBERS} where $2::bigint is null or (joined_us, id) < ($2, $3) order by joined_us desc, id desc limit $4`,
    [organizationId, after?.joinedUs ?? null, after?.id ?? null, limit]
  )
}

export async function findMember(
  db: Queryable,
  organizationId: string,
  userId: string
): Promise<MemberRow | undefined> {
  const [row] = await db.query<MemberRow>(`${MEMBERS} where id = $2`, [organizationId, userId])
  return row
}

export async function hasMemberOf(db: Queryable, organizationId: string, email: string): Promise<boolean> {
  const rows = await db.query(
    'select m.user_id from memberships m join users u on u.id = m.user_id where m.organization_id = $1 and u.email = $2',
    [organizationId, email]
  )
  return rows.length > 0
}

export async function countOwners(db: Queryable, organizationId: string): Promise<number> {
  const [row] = await db.query<{ owners: number }>(
    "select count(*) as owners from memberships where organization_id = $1 and role = 'owner'",
    [organizationId]
  )
  return row?.owners ?? 0
}

export async function updateRole(db: Queryable, organizationId: string, userId: string, role: UserRole): Promise<void> {
  await db.query('update memberships set role = $3 where organization_id = $1 and user_id = $2', [
    organizationId,
    userId,
    role
  ])
}

/** With it go the person's sessions in the organization and their refresh tokens. */
export async function deleteMembership(db: Queryable, organizationId: string, userId: string): Promise<void> {
  await db.query('delete from memberships where organization_id = $1 and user_id = $2', [organizationId, userId])
}
