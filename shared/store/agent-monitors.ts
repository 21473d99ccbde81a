import type { Queryable } from '../db.ts'
import type { AgentMonitor, MonitorKind, MonitorSettings } from '../protocol/frames.ts'

interface Row {
  id: string
  name: string
  kind: MonitorKind
  target: string | null
  interval_seconds: number
  timeout_seconds: number
  settings: MonitorSettings
}

function toAgentMonitor(row: Row): AgentMonitor {
  return {
    monitorId: row.id,
    name: row.name,
    kind: row.kind,
    ...(row.target === null ? {} : { target: row.target }),
    intervalSeconds: row.interval_seconds,
    timeoutSeconds: row.timeout_seconds,
    // The agent's own file says what a command monitor runs.
    ...(row.kind === 'command' ? {} : { settings: row.settings })
  }
}

/** System-wide: the monitors that an agent is to check, all of its set but paused and push ones. */
export async function listAgentMonitors(db: Queryable, agentId: string): Promise<AgentMonitor[]> {
  const rows = await db.query<Row>(
    `select m.id, m.name, m.kind, m.target, m.interval_seconds, m.timeout_seconds, m.settings
     from agent_monitors am
       join monitors m on m.key = am.monitor_key
       join monitor_states s on s.monitor_key = m.key
     where am.agent_id = $1 and m.kind <> 'push' and s.state <> 'paused'
     order by m.key`,
    [agentId],
    'list_agent_monitors'
  )
  return rows.map(toAgentMonitor)
}

/** An agent that was heard of; `version` null: it told none this time. */
export interface Sighting {
  agentId: string
  version: string | null
}

/** System-wide: these agents were heard of at `at`. */
export async function noteAgents(db: Queryable, sightings: readonly Sighting[], at: Date): Promise<void> {
  await db.query(
    `update agents a set last_seen_at = $3, version = coalesce(u.version, a.version)
     from unnest($1::uuid[], $2::text[]) as u (id, version) where a.id = u.id`,
    [sightings.map(({ agentId }) => agentId), sightings.map(({ version }) => version), at]
  )
}
