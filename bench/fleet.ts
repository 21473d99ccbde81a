import { writeFileSync } from 'node:fs'
import { v7 as uuid } from 'uuid'
import type { Database } from '../shared/db.ts'
import { mintApiKey, partsToShow } from '../shared/identity/api-key.ts'
import type { Secrets } from '../shared/secrets.ts'
import type { Sender } from './load-plan.ts'

export const FLEET = { organizations: 100, agents: 10_000, monitorsPerAgent: 10 } as const

interface FleetAgent extends Sender {
  id: string
  organizationId: string
}

/** One member of the fleet as the raw COPY needs it. */
export interface FleetMonitor {
  key: number
  agentId: string
  organizationId: string
}

function composeFleet(): FleetAgent[] {
  const organizations = Array.from({ length: FLEET.organizations }, () => uuid())
  return Array.from({ length: FLEET.agents }, (_, place) => ({
    id: uuid(),
    organizationId: organizations[place % organizations.length] as string,
    apiKey: mintApiKey('agent'),
    monitorIds: Array.from({ length: FLEET.monitorsPerAgent }, () => uuid())
  }))
}

async function insertAgents(db: Database, agents: readonly FleetAgent[], secrets: Secrets): Promise<void> {
  const ids = agents.map((agent) => agent.id)
  const organizationIds = agents.map((agent) => agent.organizationId)
  await db.query(
    `insert into organizations (id, name, plan)
     select id, 'Bench', 'self-hosted' from unnest($1::uuid[]) as id`,
    [[...new Set(organizationIds)]]
  )
  await db.query(
    `insert into agents (id, organization_id, name, kind, scopes)
     select id, organization_id, 'bench', 'agent', '{heartbeats:write}'
     from unnest($1::uuid[], $2::uuid[]) as one (id, organization_id)`,
    [ids, organizationIds]
  )
  const parts = agents.map((agent) => partsToShow(agent.apiKey))
  await db.query(
    `insert into api_keys (id, organization_id, agent_id, digest, pepper_version, prefix, suffix)
     select id, organization_id, agent_id, digest, $5, prefix, suffix
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bytea[], $6::text[], $7::text[])
       as one (id, organization_id, agent_id, digest, prefix, suffix)`,
    [
      agents.map(() => uuid()),
      organizationIds,
      ids,
      agents.map((agent) => secrets.digest(agent.apiKey)),
      secrets.version,
      parts.map((part) => part.prefix),
      parts.map((part) => part.suffix)
    ]
  )
}

/** Their interval is a day: they are silent between the measurements, which must not begin with all of them coming back. */
async function insertMonitors(db: Database, agents: readonly FleetAgent[]): Promise<void> {
  const monitorIds = agents.flatMap((agent) => agent.monitorIds)
  const agentIds = agents.flatMap((agent) => agent.monitorIds.map(() => agent.id))
  await db.query(
    `insert into monitors
       (id, organization_id, name, kind, target, interval_seconds, grace_seconds, timeout_seconds)
     select monitor_id, a.organization_id, 'bench', 'http', 'https://example.com/', 86400, 60, 10
     from unnest($1::uuid[], $2::uuid[]) with ordinality as one (monitor_id, agent_id, place)
       join agents a on a.id = one.agent_id
     order by place`,
    [monitorIds, agentIds]
  )
  await db.query('insert into monitor_states (monitor_key, organization_id) select key, organization_id from monitors')
  await db.query(
    `insert into agent_monitors (organization_id, agent_id, monitor_key)
     select m.organization_id, one.agent_id, m.key
     from unnest($1::uuid[], $2::uuid[]) as one (monitor_id, agent_id)
       join monitors m on m.id = one.monitor_id`,
    [monitorIds, agentIds]
  )
}

/** Puts the fleet into the database by SQL and writes what its senders must know, keys included, to `file`. */
export async function createFleet(db: Database, secrets: Secrets, file: string): Promise<void> {
  const agents = composeFleet()
  await insertAgents(db, agents, secrets)
  await insertMonitors(db, agents)
  const senders: Sender[] = agents.map(({ apiKey, monitorIds }) => ({ apiKey, monitorIds }))
  writeFileSync(file, JSON.stringify(senders), { mode: 0o600 })
}

/** The first monitors of the fleet, in the order of their keys. */
export async function readFleetMonitors(db: Database, count: number): Promise<FleetMonitor[]> {
  const rows = await db.query<{ monitor_key: number; agent_id: string; organization_id: string }>(
    'select monitor_key, agent_id, organization_id from agent_monitors order by monitor_key limit $1',
    [count]
  )
  return rows.map((row) => ({ key: row.monitor_key, agentId: row.agent_id, organizationId: row.organization_id }))
}
