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
    [agentId]
  )
  return rows.map(toAgentMonitor)
}

/** System-wide: these agents were heard of at `at`. */
export async function touchAgents(db: Queryable, agentIds: string[], at: Date): Promise<void> {
  await db.query('update agents set last_seen_at = $2 where id = any($1::uuid[])', [agentIds, at])
}

/** System-wide: an agent said hello with this version. */
export async function noteAgentVersion(
  db: Queryable,
  agentId: string,
  version: string | null,
  at: Date
): Promise<void> {
  await db.query('update agents set version = coalesce($2, version), last_seen_at = $3 where id = $1', [
    agentId,
    version,
    at
  ])
}
