import type { MonitorState } from '../contract/monitors.ts'
import type { Queryable } from '../db.ts'

/** What of a monitor tells why it is in its state. */
export interface ExplanationRow {
  key: number
  name: string
  interval_seconds: number
  grace_seconds: number
  schedule: string | null
  timezone: string | null
  confirmations: number
  recoveries: number
  state: MonitorState
  state_reason: string
  state_since: Date
  /** What the newest live heartbeat said, and how many in a row contradict the state. */
  observed: MonitorState | null
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
       s.state, s.state_reason, s.state_since, s.observed, s.streak, s.last_received_at, s.counted_from, s.also_missed_at
     from monitors m join monitor_states s on s.monitor_key = m.key
     where m.organization_id = $1 and m.id = $2`,
    [organizationId, monitorId]
  )
  return row
}

/** Spans, epoch ms, in which no heartbeat could get in and that ended after `since`; in order. */
export async function listOutagesSince(db: Queryable, since: Date): Promise<Array<{ from: number; to: number }>> {
  const rows = await db.query<{ began_at: Date; ended_at: Date }>(
    'select began_at, ended_at from ingest_outages where ended_at > $1 order by began_at',
    [since]
  )
  return rows.map((row) => ({ from: row.began_at.getTime(), to: row.ended_at.getTime() }))
}
