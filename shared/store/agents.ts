import type { Scope } from '../contract/permissions.ts'
import type { Queryable } from '../db.ts'
import type { KeyHolder } from '../identity/api-key.ts'

/** An agent or service with its monitor set. */
export interface AgentRow {
  id: string
  name: string
  kind: KeyHolder
  scopes: Scope[]
  version: string | null
  last_seen_at: Date | null
  created_at: Date
  monitor_ids: string[]
  /** Has it a key that is not revoked? */
  has_key: boolean
}

/** A service need not hold a socket: calls by its keys tell that it lives. */
const LAST_SEEN = `case a.kind
      when 'agent' then a.last_seen_at
      else greatest(a.last_seen_at, (select max(k.last_used_at) from api_keys k where k.agent_id = a.id))
    end as last_seen_at`

const SELECT = `
  select a.id, a.name, a.kind, a.scopes, a.version, a.created_at, ${LAST_SEEN},
    array(
      select m.id from agent_monitors am join monitors m on m.key = am.monitor_key where am.agent_id = a.id order by m.id
    ) as monitor_ids,
    exists (select from api_keys k where k.agent_id = a.id and k.revoked_at is null) as has_key
  from agents a`

/** System-wide: of each agent and service of these organizations what its presence is told by. */
export function listAgentsSeen(
  db: Queryable,
  organizationIds: readonly string[]
): Promise<Array<Pick<AgentRow, 'id' | 'kind' | 'last_seen_at' | 'has_key'> & { organization_id: string }>> {
  return db.query(
    `select a.id, a.organization_id, a.kind, ${LAST_SEEN},
       exists (select from api_keys k where k.agent_id = a.id and k.revoked_at is null) as has_key
     from agents a where a.organization_id = any ($1::uuid[])`,
    [organizationIds]
  )
}

/** Newest first: ids are UUIDv7. `after` is the id that the page before ended with. */
export function listAgents(
  db: Queryable,
  organizationId: string,
  after: string | null,
  limit: number
): Promise<AgentRow[]> {
  return db.query<AgentRow>(
    `${SELECT} where a.organization_id = $1 and ($2::uuid is null or a.id < $2) order by a.id desc limit $3`,
    [organizationId, after, limit]
  )
}

export async function findAgent(db: Queryable, organizationId: string, id: string): Promise<AgentRow | undefined> {
  const [row] = await db.query<AgentRow>(`${SELECT} where a.organization_id = $1 and a.id = $2`, [organizationId, id])
  return row
}

/** As `findAgent`, and nobody else changes it or its keys until this transaction ends. */
export async function lockAgent(db: Queryable, organizationId: string, id: string): Promise<AgentRow | undefined> {
  const [row] = await db.query<AgentRow>(
    `${SELECT} where a.organization_id = $1 and a.id = $2 for no key update of a`,
    [organizationId, id]
  )
  return row
}

export async function insertAgent(
  db: Queryable,
  organizationId: string,
  agent: { id: string; name: string; kind: KeyHolder; scopes: readonly Scope[] }
): Promise<void> {
  await db.query('insert into agents (id, organization_id, name, kind, scopes) values ($1, $2, $3, $4, $5)', [
    agent.id,
    organizationId,
    agent.name,
    agent.kind,
    agent.scopes
  ])
}

export async function updateAgent(
  db: Queryable,
  organizationId: string,
  id: string,
  { name, scopes }: { name: string; scopes: readonly Scope[] }
): Promise<void> {
  await db.query('update agents set name = $3, scopes = $4 where organization_id = $1 and id = $2', [
    organizationId,
    id,
    name,
    scopes
  ])
}

/** The monitor set becomes exactly these. */
export async function replaceAgentMonitors(
  db: Queryable,
  organizationId: string,
  agentId: string,
  monitorKeys: readonly number[]
): Promise<void> {
  await db.query('delete from agent_monitors where organization_id = $1 and agent_id = $2', [organizationId, agentId])
  await db.query(
    `insert into agent_monitors (organization_id, agent_id, monitor_key)
     select $1, $2, key from unnest($3::bigint[]) as wanted (key)`,
    [organizationId, agentId, monitorKeys]
  )
}

/** Its keys and monitor set go with it. */
export async function deleteAgent(db: Queryable, organizationId: string, id: string): Promise<void> {
  await db.query('delete from agents where organization_id = $1 and id = $2', [organizationId, id])
}
