import type { Transaction } from '../db.ts'

export interface MonitorStateRow {
  monitor_key: number
  organization_id: string
  state: 'pending' | 'up' | 'down' | 'degraded' | 'unknown' | 'paused'
  state_reason: string
  state_since: Date
  last_heartbeat_at: Date | null
  live_sources: Record<string, number>
  interval_seconds: number
  grace_seconds: number
}

/**
 * System-wide. Locks the states of these monitors in the order of their keys, so that two workers never wait for each other
 * in a circle; monitors deleted meanwhile are missing from the answer.
 */
export function lockMonitorStates(tx: Transaction, monitorKeys: number[]): Promise<MonitorStateRow[]> {
  return tx.query<MonitorStateRow>(
    `select s.monitor_key, s.organization_id, s.state, s.state_reason, s.state_since, s.last_heartbeat_at, s.live_sources,
       m.interval_seconds, m.grace_seconds
     from monitor_states s join monitors m on m.key = s.monitor_key
     where s.monitor_key = any($1::bigint[])
     order by s.monitor_key
     for no key update of s`,
    [monitorKeys]
  )
}

/** What the fold of a group changes in one monitor. */
export interface MonitorStateChange {
  monitorKey: number
  state: string
  stateReason: string
  stateSince: Date
  lastHeartbeatAt: Date | null
  /** JSON text. */
  liveSources: string
}

/** System-wide. The rows must be locked by this transaction. */
export async function updateMonitorStates(tx: Transaction, changes: readonly MonitorStateChange[]): Promise<void> {
  await tx.query(
    `update monitor_states s
     set state = u.state, state_reason = u.reason, state_since = u.since, last_heartbeat_at = u.last, live_sources = u.live
     from unnest($1::bigint[], $2::monitor_state[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::jsonb[])
       as u (monitor_key, state, reason, since, last, live)
     where s.monitor_key = u.monitor_key`,
    [
      changes.map((change) => change.monitorKey),
      changes.map((change) => change.state),
      changes.map((change) => change.stateReason),
      changes.map((change) => change.stateSince),
      changes.map((change) => change.lastHeartbeatAt),
      changes.map((change) => change.liveSources)
    ]
  )
}

export interface NewTransition {
  monitorKey: number
  organizationId: string
  from: string
  to: string
  at: Date
  reason: string
}

/** System-wide, in the transaction that changed the state. */
export async function insertTransitions(tx: Transaction, transitions: readonly NewTransition[]): Promise<void> {
  await tx.query(
    `insert into transitions (monitor_key, organization_id, from_state, to_state, at, reason)
     select * from unnest($1::bigint[], $2::uuid[], $3::monitor_state[], $4::monitor_state[], $5::timestamptz[], $6::text[])`,
    [
      transitions.map((transition) => transition.monitorKey),
      transitions.map((transition) => transition.organizationId),
      transitions.map((transition) => transition.from),
      transitions.map((transition) => transition.to),
      transitions.map((transition) => transition.at),
      transitions.map((transition) => transition.reason)
    ]
  )
}
