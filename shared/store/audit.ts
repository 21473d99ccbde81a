import { v7 as uuidv7 } from 'uuid'
import type { Queryable } from '../db.ts'

/** What the audit trail tells of; the part before the point is what it was done to. */
export const AUDIT_ACTIONS = [
  'organization.created',
  'organization.changed',
  'organization.deleted',
  'session.started',
  'session.failed',
  'session.ended',
  'password.changed',
  'password.reset_asked',
  'password.reset',
  'account.changed',
  'invitation.created',
  'invitation.revoked',
  'invitation.accepted',
  'member.joined',
  'member.role_changed',
  'member.removed',
  'member.left',
  'agent.created',
  'agent.changed',
  'agent.deleted',
  'key.created',
  'key.revoked',
  'key.rotated',
  'monitor.created',
  'monitor.changed',
  'monitor.deleted',
  'sso.connection_created',
  'sso.connection_proven',
  'sso.connection_deleted',
  'sso.identity_linked',
  'sso.identity_unlinked',
  'signing_key.rotated'
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

export interface AuditEntry {
  organizationId: string
  actor: { kind: 'user' | 'key' | 'operator' | 'system'; id: string | null }
  action: AuditAction
  target?: { kind: string; id: string; name?: string | null }
  /** What changed; never a secret. */
  details?: Record<string, unknown>
  address: string | null
  requestId: string | null
}

/** In the transaction of the change itself, with the organization as its tenant. The actor's name is kept as it is now. */
export async function insertAudit(db: Queryable, entry: AuditEntry): Promise<void> {
  const { organizationId, actor, action, target, details, address, requestId } = entry
  await db.query(
    `insert into audit_log (id, organization_id, actor_kind, actor_id, actor_name, action, target_kind, target_id,
       target_name, details, address, request_id)
     values ($1, $2, $3, $4,
       coalesce((select email from users where id = $4), (select name from agents where id = $4 and organization_id = $2)),
       $5, $6, $7, $8, $9, $10, $11)`,
    [
      uuidv7(),
      organizationId,
      actor.kind,
      actor.id,
      action,
      target?.kind ?? null,
      target?.id ?? null,
      target?.name ?? null,
      JSON.stringify(details ?? {}),
      address,
      requestId
    ]
  )
}
