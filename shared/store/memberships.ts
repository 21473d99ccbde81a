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
