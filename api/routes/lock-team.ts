import { mayManage, type Permission, ROLES, type UserRole } from '../../shared/contract/permissions.ts'
import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { deleteInvitationsBy } from '../../shared/store/invitations.ts'
import { countOwners, findMember, type MemberRow } from '../../shared/store/memberships.ts'
import { lockOrganization, type OrganizationRow } from '../../shared/store/organizations.ts'
import { audit } from '../http/audit.ts'
import { authorize, type UserPrincipal } from '../http/authenticate.ts'

/** The part of a `Call` of a signed-in person that tells who asks from where. */
export interface AskedByPerson {
  principal: UserPrincipal
  address: string
  requestId: string
}

/**
 * Changes of one organization's people come one after the other. Whoever waited for their turn may have lost the role that
 * let them in, so it is looked at again.
 * @throws AppError unauthorized, forbidden
 */
export async function lockTeam(
  tx: Queryable,
  principal: UserPrincipal,
  permission: Permission
): Promise<{ organization: OrganizationRow; actor: MemberRow }> {
  const organization = await lockOrganization(tx, principal.organizationId)
  const actor = await findMember(tx, principal.organizationId, principal.userId)
  if (organization === undefined || actor === undefined) throw new AppError('unauthorized')
  authorize({ ...principal, role: actor.role }, permission)
  return { organization, actor }
}

/** @throws AppError forbidden when one of these roles is not the actor's to give or take. */
export function requireManage(actor: MemberRow, ...roles: UserRole[]): void {
  if (!roles.every((role) => mayManage(actor.role, role))) {
    throw new AppError('forbidden', { detail: 'Only owners invite, change or remove owners.' })
  }
}

/** Before an owner ceases to be one. @throws AppError last_owner */
export async function requireAnotherOwner(tx: Queryable, organizationId: string, member: MemberRow): Promise<void> {
  if (member.role === 'owner' && (await countOwners(tx, organizationId)) < 2) {
    throw new AppError('last_owner', { detail: 'Make somebody else an owner first, or delete the organization.' })
  }
}

/** Invitations hold only while who made them may make such: else a removed admin would come back by one of their own. */
export async function takeInvitationsBack(
  tx: Queryable,
  call: AskedByPerson,
  inviter: MemberRow,
  newRole: UserRole | null
): Promise<void> {
  const lost = ROLES.filter((role) => newRole === null || !mayManage(newRole, role))
  for (const { id, email } of await deleteInvitationsBy(tx, call.principal.organizationId, inviter.id, lost)) {
    await audit(tx, call, 'invitation.revoked', {
      target: { kind: 'invitation', id, name: email },
      details: { because: 'the inviter lost the right to it' }
    })
  }
}
