import type { MonitorState } from '../contract/monitors.ts'
import type { Queryable } from '../db.ts'
import type { MonitorKind, MonitorSettings } from '../protocol/frames.ts'
import type { HeartbeatStatus } from '../protocol/heartbeat.ts'

/** A monitor with its state. */
export interface MonitorRow {
  key: number
  id: string
  name: string
  kind: MonitorKind
  target: string | null
  interval_seconds: number
  schedule: string | null
  timezone: string | null
  confirmations: number
  recoveries: number
  quorum: string
  max_runtime_seconds: number | null
  resume_on_ping: boolean
  agent_is_target: boolean
  grace_seconds: number
  timeout_seconds: number
  settings: MonitorSettings
  tags: string[]
  created_at: Date
  state: MonitorState
  state_reason: string
  state_since: Date
  observed: HeartbeatStatus | null
  running: boolean
  last_received_at: Date | null
  counted_from: Date | null
  last_heartbeat_at: Date | null
  /** The sealed token of a push monitor. */
  token_sealed: Buffer | null
  /** What it depends on. */
  parent_ids: string[]
}

/** What may be changed of a monitor. */
export interface MonitorFields {
  name: string
  target: string | null
  intervalSeconds: number
  schedule: string | null
  timezone: string | null
  confirmations: number
  recoveries: number
  quorum: string
  maxRuntimeSeconds: number | null
  resumeOnPing: boolean
  agentIsTarget: boolean
  graceSeconds: number
  timeoutSeconds: number
  settings: MonitorSettings
  tags: string[]
  /** Written by themselves. */
  parentIds: string[]
}

const SELECT = `
  select m.key, m.id, m.name, m.kind, m.target, m.interval_seconds, m.grace_seconds, m.timeout_seconds, m.settings,
    m.tags, m.created_at, m.schedule, m.timezone, m.confirmations, m.recoveries, m.quorum, m.max_runtime_seconds,
    m.resume_on_ping, m.agent_is_target, s.state, s.state_reason, s.state_since, s.observed, s.running, s.last_received_at, s.counted_from, s.last_heartbeat_at,
    p.token_sealed,
    array(select parent.id from monitor_parents mp join monitors parent on parent.key = mp.parent_key
      where mp.monitor_key = m.key order by parent.id) as parent_ids
  from monitors m
    join monitor_states s on s.monitor_key = m.key
    left join push_urls p on p.monitor_key = m.key`

interface Page {
  organizationId: string
  /** Only these monitors; null means all. */
  ids: string[] | null
  /** The id that the page before ended with. */
  after: string | null
  limit: number
}

/** Newest first: ids are UUIDv7. */
export function listMonitors(db: Queryable, { organizationId, ids, after, limit }: Page): Promise<MonitorRow[]> {
  return db.query<MonitorRow>(
    `${SELECT}
     where m.organization_id = $1 and ($2::uuid[] is null or m.id = any ($2)) and ($3::uuid is null or m.id < $3)
     order by m.id desc limit $4`,
    [organizationId, ids, after, limit]
  )
}

export async function findMonitor(db: Queryable, organizationId: string, id: string): Promise<MonitorRow | undefined> {
  const [row] = await db.query<MonitorRow>(`${SELECT} where m.organization_id = $1 and m.id = $2`, [organizationId, id])
  return row
}

/** As `findMonitor`, and nobody else changes it until this transaction ends. */
export async function lockMonitor(db: Queryable, organizationId: string, id: string): Promise<MonitorRow | undefined> {
  const [row] = await db.query<MonitorRow>(
    `${SELECT} where m.organization_id = $1 and m.id = $2 for no key update of m`,
    [organizationId, id]
  )
  return row
}

/** Makes the monitor and its state row. Returns its internal key. */
export async function insertMonitor(
  db: Queryable,
  organizationId: string,
  monitor: MonitorFields & { id: string; kind: MonitorKind }
): Promise<number> {
  const [row] = await db.query<{ key: number }>(
    `insert into monitors (id, organization_id, name, kind, target, interval_seconds, grace_seconds, timeout_seconds,
       settings, tags, schedule, timezone, confirmations, recoveries, max_runtime_seconds, quorum, resume_on_ping,
       agent_is_target)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
     returning key`,
    [
      monitor.id,
      organizationId,
      monitor.name,
      monitor.kind,
      monitor.target,
      monitor.intervalSeconds,
      monitor.graceSeconds,
      monitor.timeoutSeconds,
      JSON.stringify(monitor.settings),
      monitor.tags,
      monitor.schedule,
      monitor.timezone,
      monitor.confirmations,
      monitor.recoveries,
      monitor.maxRuntimeSeconds,
      monitor.quorum,
      monitor.resumeOnPing,
      monitor.agentIsTarget
    ]
  )
  const key = Number(row?.key)
  await db.query('insert into monitor_states (monitor_key, organization_id) values ($1, $2)', [key, organizationId])
  return key
}

export async function updateMonitor(
  db: Queryable,
  organizationId: string,
  id: string,
  monitor: MonitorFields
): Promise<void> {
  await db.query(
    `update monitors set name = $3, target = $4, interval_seconds = $5, grace_seconds = $6, timeout_seconds = $7,
       settings = $8, tags = $9, schedule = $10, timezone = $11, confirmations = $12, recoveries = $13,
       max_runtime_seconds = $14, quorum = $15, resume_on_ping = $16, agent_is_target = $17
     where organization_id = $1 and id = $2`,
    [
      organizationId,
      id,
      monitor.name,
      monitor.target,
      monitor.intervalSeconds,
      monitor.graceSeconds,
      monitor.timeoutSeconds,
      JSON.stringify(monitor.settings),
      monitor.tags,
      monitor.schedule,
      monitor.timezone,
      monitor.confirmations,
      monitor.recoveries,
      monitor.maxRuntimeSeconds,
      monitor.quorum,
      monitor.resumeOnPing,
      monitor.agentIsTarget
    ]
  )
}

/** Returns its name, if there was one. Its state, push URL, transitions and memberships of agents' sets go with it. */
export async function deleteMonitor(db: Queryable, organizationId: string, id: string): Promise<string | undefined> {
  const [row] = await db.query<{ name: string }>(
    'delete from monitors where organization_id = $1 and id = $2 returning name',
    [organizationId, id]
  )
  return row?.name
}

/** Keys of those ids that are monitors of the organization. */
export function findMonitorKeys(
  db: Queryable,
  organizationId: string,
  ids: readonly string[]
): Promise<Array<{ id: string; key: number }>> {
  return db.query<{ id: string; key: number }>(
    'select id, key from monitors where organization_id = $1 and id = any ($2::uuid[])',
    [organizationId, ids]
  )
}

/** State of one monitor by its internal key. */
export async function findState(
  db: Queryable,
  organizationId: string,
  monitorKey: number
): Promise<MonitorState | undefined> {
  const [row] = await db.query<{ state: MonitorState }>(
    'select state from monitor_states where organization_id = $1 and monitor_key = $2',
    [organizationId, monitorKey]
  )
  return row?.state
}
