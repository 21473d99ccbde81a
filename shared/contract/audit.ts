import { z } from 'zod'
import { cursorQuery, idField, limitQuery, nextCursorField, timeField, timeQuery } from './fields.ts'
import type { Route } from './route.ts'

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
  'account.email_change_asked',
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
  'channel.created',
  'channel.changed',
  'channel.deleted',
  'channel.tested',
  'channel.secret_rotated',
  'channel.message_resent',
  'maintenance.created',
  'maintenance.changed',
  'maintenance.ended',
  'maintenance.deleted',
  'monitor.paused',
  'monitor.resumed',
  'sso.connection_created',
  'sso.connection_proven',
  'sso.connection_deleted',
  'sso.identity_linked',
  'sso.identity_unlinked',
  'signing_key.rotated',
  'secrets_key.changed'
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

export const AUDIT_ACTOR_KINDS = ['user', 'key', 'operator', 'system'] as const
export type AuditActorKind = (typeof AUDIT_ACTOR_KINDS)[number]

export const auditQuerySchema = z.strictObject({
  action: z.enum(AUDIT_ACTIONS).optional(),
  actorId: idField.optional().meta({ description: 'The user, or the agent or service whose key it was.' }),
  targetId: z
    .string()
    .max(200)
    .refine((text) => !text.includes('\u0000'), 'must not contain U+0000')
    .optional()
    .meta({ description: 'What it was done to; an agent is found with what was done to its keys.' }),
  from: timeQuery.optional(),
  to: timeQuery.optional().meta({ description: 'End of the window, itself not in it.' }),
  limit: limitQuery,
  cursor: cursorQuery
})

export const auditEntrySchema = z
  .object({
    id: idField,
    at: timeField,
    actor: z.object({
      kind: z.enum(AUDIT_ACTOR_KINDS).meta({ description: 'key: an agent or a service, by its key.' }),
      id: idField.nullable(),
      name: z.string().nullable().meta({ description: 'As it was then: e-mail of a user, name of an agent.' })
    }),
    action: z.enum(AUDIT_ACTIONS),
    target: z
      .object({ kind: z.string(), id: z.string(), name: z.string().nullable() })
      .nullable()
      .meta({ description: 'What it was done to, with its name as it was then.' }),
    details: z.record(z.string(), z.unknown()).meta({ description: 'What changed; never a secret.' }),
    address: z.string().nullable().meta({ description: 'Where the request came from.' })
  })
  .meta({ id: 'AuditEntry' })

export const auditPageSchema = z
  .object({ data: z.array(auditEntrySchema), nextCursor: nextCursorField })
  .meta({ id: 'AuditPage' })

export const auditRoutes = {
  listAudit: {
    method: 'GET',
    path: '/v1/audit',
    auth: 'audit:read',
    tag: 'Audit',
    summary: 'Read who did what in the organization, and from where, newest first.',
    query: auditQuerySchema,
    answers: { 200: { description: 'One page.', schema: auditPageSchema } },
    problems: ['invalid_cursor']
  }
} as const satisfies Record<string, Route>
