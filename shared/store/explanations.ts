import type { MonitorState } from '../contract/monitors.ts'
import type { Queryable } from '../db.ts'
import type { BallotRow } from '../vote.ts'

/** What of a monitor tells why it is in its state. */
export interface ExplanationRow extends BallotRow {
  key: number
  name: string
  interval_seconds: number
  grace_seconds: number
  schedule: string | null
  timezone: string | null
  confirmations: number
  recoveries: number
  quorum: string
  state: MonitorState
  state_reason: string
  state_since: Date
  /** How many heartbeats in a row contradict the state. */
  streak: number
  last_received_at: Date | null
  counted_from: Date | null
  also_missed_at: Date | null
}

export async function findExplanation(
  db: Queryable,
  organizationId: string,
  monitorId: string
): Promise<ExplanationRow | undefined> {
  const [row] = await db.query<ExplanationRow>(
    `select m.key, m.name, m.interval_seconds, m.grace_seconds, m.schedule, m.timezone, m.confirmations, m.recoveries,
       m.quorum, s.state, s.state_reason, s.state_since, s.observed, s.streak, s.last_heartbeat_at, s.last_received_at,
       s.by_socket, s.last_source_id, s.other_sources, s.other_votes, s.counted_from, s.also_missed_at
     from monitors m join monitor_states s on s.monitor_key = m.key
     where m.organization_id = $1 and m.id = $2`,
    [organizationId, monitorId]
  )
  return row
}

/** Those of these agents that were heard of since then, by name. */
export function listAgentsSeenSince(
  db: Queryable,
  organizationId: string,
  ids: readonly string[],
  since: Date
): Promise<Array<{ id: string; name: string }>> {
  return db.query(
    `select id, name from agents where organization_id = $1 and id = any ($2::uuid[]) and last_seen_at >= $3
     order by name, id`,
    [organizationId, ids, since]
  )
}

/** Spans, epoch ms, in which no heartbeat could get in and that ended after `since`; in order. */
export async function listOutagesSince(db: Queryable, since: Date): Promise<Array<{ from: number; to: number }>> {
  const rows = await db.query<{ began_at: Date; ended_at: Date }>(
    'select began_at, ended_at from ingest_outages where ended_at > $1 order by began_at',
    [since]
  )
  return rows.map((row) => ({ from: row.began_at.getTime(), to: row.ended_at.getTime() }))
}
