import type { MonitorState } from '../contract/monitors.ts'
import type { Queryable } from '../db.ts'
import type { StateSpan } from '../state-seconds.ts'

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

/** The monitor was down from `at` to `ended_at`, null while it is. */
export interface IncidentRow {
  id: number
  at: Date
  ended_at: Date | null
  reason: string
}

/** Newest first. */
export function listIncidents(
  db: Queryable,
  { organizationId, monitorKey, after, limit }: Page
): Promise<IncidentRow[]> {
  return db.query<IncidentRow>(
    `select t.id, t.at, t.reason, n.at as ended_at
     from transitions t left join lateral (
       select at from transitions
       where monitor_key = t.monitor_key and (at, id) > (t.at, t.id) order by at, id limit 1
     ) n on true
     where t.organization_id = $1 and t.monitor_key = $2 and t.to_state = 'down' and t.from_state <> 'down'
       and ($3::timestamptz is null or (t.at, t.id) < ($3, $4::bigint))
     order by t.at desc, t.id desc limit $5`,
    [organizationId, monitorKey, after === null ? null : new Date(after.at), after?.id ?? null, limit]
  )
}

interface Life {
  organizationId: string
  key: number
  /** What it is in now. */
  state: MonitorState
  created_at: Date
}

type Change = Pick<TransitionRow, 'from_state' | 'to_state' | 'at'>

/**
 * The states of a monitor within [from, to), epoch ms, in order and without gaps but for the time before it was made. The
 * changes nearest to both ends of the window tell what it was there.
 */
export async function listStateSpans(db: Queryable, monitor: Life, from: number, to: number): Promise<StateSpan[]> {
  const changes = await db.query<Change>(
    `with own as (select id, from_state, to_state, at from transitions where organization_id = $1 and monitor_key = $2)
     select * from (
       (select * from own where at < $3 order by at desc, id desc limit 1)
       union all (select * from own where at >= $3 and at < $4)
       union all (select * from own where at >= $4 order by at, id limit 1)
     ) near order by at, id`,
    [monitor.organizationId, monitor.key, new Date(from), new Date(to)]
  )
  return spansOf(changes, monitor, from, to)
}

/** The same of changes that are known already, in order. */
export function spansOf(
  changes: readonly Change[],
  monitor: Pick<Life, 'state' | 'created_at'>,
  from: number,
  to: number
): StateSpan[] {
  const spans: StateSpan[] = []
  let begin = Math.max(
    from,
    Math.min(monitor.created_at.getTime(), changes[0]?.at.getTime() ?? Number.POSITIVE_INFINITY)
  )
  let state = changes[0]?.from_state ?? monitor.state
  for (const change of changes) {
    const at = Math.min(to, change.at.getTime())
    if (at > begin) {
      spans.push({ state, from: begin, to: at })
      begin = at
    }
    state = change.to_state
  }
  if (to > begin) spans.push({ state, from: begin, to })
  return spans
}
