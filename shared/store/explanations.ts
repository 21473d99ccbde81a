import type { MonitorState } from '../contract/monitors.ts'
import type { Queryable } from '../db.ts'

/** What of a monitor tells why it is in its state. */
export interface ExplanationRow {
  key: number
  name: string
  interval_seconds: number
  grace_seconds: number
  state: MonitorState
  state_reason: string
  state_since: Date
  expected_at: Date | null
  deadline_at: Date | null
}

export async function findExplanation(
  db: Queryable,
  organizationId: string,
  monitorId: string
): Promise<ExplanationRow | undefined> {
  const [row] = await db.query<ExplanationRow>(
    `select m.key, m.name, m.interval_seconds, m.grace_seconds, s.state, s.state_reason, s.state_since, s.expected_at,
       s.deadline_at
     from monitors m join monitor_states s on s.monitor_key = m.key
     where m.organization_id = $1 and m.id = $2`,
    [organizationId, monitorId]
  )
  return row
}
