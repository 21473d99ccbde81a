import type { MonitorState } from '../contract/monitors.ts'
import type { Queryable } from '../db.ts'

export interface TransitionRow {
  id: number
  from_state: MonitorState
  to_state: MonitorState
  at: Date
  reason: string
}

interface Page {
  organizationId: string
  monitorKey: number
  /** Time (epoch ms) and id that the page before ended with. */
  after: { at: number; id: number } | null
  limit: number
}

/** Newest first. */
export function listTransitions(
  db: Queryable,
  { organizationId, monitorKey, after, limit }: Page
): Promise<TransitionRow[]> {
  return db.query<TransitionRow>(
    `select id, from_state, to_state, at, reason from transitions
     where organization_id = $1 and monitor_key = $2 and ($3::timestamptz is null or (at, id) < ($3, $4::bigint))
     order by at desc, id desc limit $5`,
    [organizationId, monitorKey, after === null ? null : new Date(after.at), after?.id ?? null, limit]
  )
}
