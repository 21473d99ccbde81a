import type { UserRole } from '../contract/permissions.ts'
import type { Queryable } from '../db.ts'

export interface NewInvitation {
  id: string
  organizationId: string
  /** Normalized. */
  email: string
  role: UserRole
  tokenDigest: Buffer
  pepperVersion: number
  invitedBy: string
  createdAt: Date
  expiresAt: Date
}

/** One that nobody has accepted. */
export interface InvitationRow {
  id: string
  email: string
  role: UserRole
  /** Null: the person is no longer a member. */
  inviter_id: string | null
  inviter_name: string | null
  created_at: Date
  expires_at: Date
}

const INVITATION = `
  select i.id, i.email, i.role, u.id as inviter_id, u.name as inviter_name, i.created_at, i.expires_at
  from invitations i left join users u on u.id = i.invited_by
  where i.organization_id = $1 and i.accepted_at is null`

export async function insertInvitation(db: Queryable, invitation: NewInvitation): Promise<void> {
  await db.query(
    `insert into invitations (id, organization_id, email, role, token_digest, pepper_version, invited_by, created_at,
       expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      invitation.id,
      invitation.organizationId,
      invitation.email,
      invitation.role,
      invitation.tokenDigest,
      invitation.pepperVersion,
      invitation.invitedBy,
      invitation.createdAt,
      invitation.expiresAt
    ]
  )
}

/** Newest first, from the one after `after`. */
export function listInvitations(
  db: Queryable,
  organizationId: string,
  after: string | null,
  limit: number
): Promise<InvitationRow[]> {
  return db.query<InvitationRow>(`${INVITATION} and ($2::uuid is null or i.id < $2) order by i.id desc limit $3`, [
    organizationId,
    after,
    limit
  ])
}

export async function findOpenInvitation(
  db: Queryable,
  organizationId: string,
  id: string
): Promise<InvitationRow | undefined> {
  const [row] = await db.query<InvitationRow>(`${INVITATION} and i.id = $2`, [organizationId, id])
  return row
}

export async function findOpenInvitationOf(
  db: Queryable,
  organizationId: string,
  email: string
): Promise<InvitationRow | undefined> {
  const [row] = await db.query<InvitationRow>(`${INVITATION} and i.email = $2`, [organizationId, email])
  return row
}

/** Returns whether it was there and open. */
export async function deleteInvitation(db: Queryable, organizationId: string, id: string): Promise<boolean> {
  const rows = await db.query(
    'delete from invitations where organization_id = $1 and id = $2 and accepted_at is null returning id',
    [organizationId, id]
  )
  return rows.length > 0
}

/** Takes back the open invitations of these roles that one person made. */
export function deleteInvitationsBy(
  db: Queryable,
  organizationId: string,
  invitedBy: string,
  roles: readonly UserRole[]
): Promise<Array<{ id: string; email: string }>> {
  return db.query(
    `delete from invitations
     where organization_id = $1 and invited_by = $2 and role = any($3::text[]) and accepted_at is null
     returning id, email`,
    [organizationId, invitedBy, roles]
  )
}

/** What a token invites to. */
export interface FoundInvitation {
  id: string
  organization_id: string
  organization_name: string
  plan: string
  sso_required: boolean
  email: string
  role: UserRole
  expires_at: Date
  accepted_at: Date | null
}

/** System-wide: the token comes before the tenant is known. Those of suspended organizations are not found. */
export async function findInvitation(db: Queryable, tokenDigest: Buffer): Promise<FoundInvitation | undefined> {
  const [row] = await db.query<FoundInvitation>('select * from find_invitation($1)', [tokenDigest])
  return row
}

/** System-wide: makes the person a member. False when the invitation was no longer good. */
export async function acceptInvitation(db: Queryable, tokenDigest: Buffer, userId: string, at: Date): Promise<boolean> {
  const [row] = await db.query<{ accepted: boolean }>('select accept_invitation($1, $2, $3) as accepted', [
    tokenDigest,
    userId,
    at
  ])
  return row?.accepted === true
}
