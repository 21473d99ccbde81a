import { v7 as uuidv7 } from 'uuid'
import type { AuditAction, AuditActorKind } from '../contract/audit.ts'
import type { Queryable } from '../db.ts'
import { listMemberships } from './memberships.ts'

export interface AuditEntry {
  organizationId: string
  actor: { kind: AuditActorKind; id: string | null }
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

/** System-wide: the operator did something that is everybody's concern. */
export async function insertOperatorAuditEverywhere(
  db: Queryable,
  { action, details }: Pick<AuditEntry, 'action' | 'details'>
): Promise<void> {
  const organizations = await db.query<{ id: string }>('select id from organizations')
  await db.query(
    `insert into audit_log (id, organization_id, actor_kind, action, details)
     select entry_id, organization_id, 'operator', $3, $4 from unnest($1::uuid[], $2::uuid[]) as one (entry_id, organization_id)`,
    [organizations.map(() => uuidv7()), organizations.map(({ id }) => id), action, JSON.stringify(details ?? {})]
  )
}

/** What a person did outside of any one organization is told in each of theirs. */
export async function insertPersonAudit(
  db: Queryable,
  entry: Pick<AuditEntry, 'action' | 'details' | 'address' | 'requestId'> & { userId: string }
): Promise<void> {
  const { userId, action, details, address, requestId } = entry
  const ids = (await listMemberships(db, userId)).map(() => uuidv7())
  await db.query('select audit_person($1, $2, $3, $4, $5, $6)', [
    userId,
    ids,
    action,
    JSON.stringify(details ?? {}),
    address,
    requestId
  ])
}

export interface ResumedByHeartbeat {
  monitorKey: number
  /** Who reported: an agent, a service, a person or a push URL. */
  sourceId: string
}

/** System-wide: heartbeats resumed these monitors. A push URL tells of nobody. */
export async function insertResumedAudit(db: Queryable, resumed: readonly ResumedByHeartbeat[]): Promise<void> {
  await db.query(
    `insert into audit_log (id, organization_id, actor_kind, actor_id, actor_name, action, target_kind, target_id,
       target_name, details)
     select r.id, m.organization_id, case when a.id is not null then 'key' when u.id is not null then 'user' else 'system' end,
       coalesce(a.id, u.id), coalesce(a.name, u.email), $4, 'monitor', m.id::text, m.name, '{"by":"heartbeat"}'
     from unnest($1::uuid[], $2::bigint[], $3::uuid[]) as r (id, monitor_key, source_id)
       join monitors m on m.key = r.monitor_key
       left join agents a on a.id = r.source_id and a.organization_id = m.organization_id
       left join users u on u.id = r.source_id`,
    [
      resumed.map(() => uuidv7()),
      resumed.map(({ monitorKey }) => monitorKey),
      resumed.map(({ sourceId }) => sourceId),
      'monitor.resumed' satisfies AuditAction
    ]
  )
}

/** What to show of the trail; null: whatever it is. */
export interface AuditFilter {
  organizationId: string
  action: AuditAction | null
  actorId: string | null
  /** Keys are found by their agent as well. */
  targetId: string | null
  from: Date | null
  /** Itself not in the window. */
  to: Date | null
  /** The id that the page before ended with. */
  after: string | null
  limit: number
}

export interface AuditRow {
  id: string
  at: Date
  actor_kind: AuditActorKind
  actor_id: string | null
  actor_name: string | null
  action: AuditAction
  target_kind: string | null
  target_id: string | null
  target_name: string | null
  details: Record<string, unknown>
  address: string | null
}

/** Newest first: ids are UUIDv7. */
export function listAudit(db: Queryable, filter: AuditFilter): Promise<AuditRow[]> {
  const { organizationId, action, actorId, targetId, from, to, after, limit } = filter
  return db.query<AuditRow>(
    `select id, at, actor_kind, actor_id, actor_name, action, target_kind, target_id, target_name, details, address
     from audit_log
     where organization_id = $1 and ($2::text is null or action = $2) and ($3::uuid is null or actor_id = $3)
       and ($4::text is null or target_id = $4 or details ->> 'agentId' = $4)
       and ($5::timestamptz is null or at >= $5) and ($6::timestamptz is null or at < $6)
       and ($7::uuid is null or id < $7)
     order by id desc limit $8`,
    [organizationId, action, actorId, targetId, from, to, after, limit]
  )
}
