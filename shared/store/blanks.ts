import type { Transaction } from '../db.ts'
import { HEARTBEAT_STATUSES, type HeartbeatStatus } from '../protocol/heartbeat.ts'
import type { MonitorStateRow } from './monitor-states.ts'

/** A span, epoch ms, of a monitor's past of which heartbeats may tell by now. */
export interface PastSpan {
  monitorKey: number
  first: number
  last: number
}

/** A span of which nothing was known, between the changes of state that begin and end it. */
export interface BlankRow {
  monitor_key: number
  organization_id: string
  began_by: number
  began_at: Date
  state_before: MonitorStateRow['state']
  reason: string
  ended_by: number
  ended_at: Date
  state_after: MonitorStateRow['state']
  reason_after: string
  patience_seconds: number
  /** When nothing could get in: since when; what came before then is no proof that the monitor was seen meanwhile. */
  blind_since: Date | null
  confirmations: number
}

/** System-wide: the spans that are over and are told of by heartbeats of these. What is so now is left to the present. */
export function listBlanks(tx: Transaction, spans: readonly PastSpan[]): Promise<BlankRow[]> {
  return tx.query<BlankRow>(
    `select distinct m.key as monitor_key, m.organization_id, b.id as began_by, b.at as began_at, b.from_state as state_before,
       b.reason, e.id as ended_by, e.at as ended_at, e.to_state as state_after, e.reason as reason_after,
       m.interval_seconds + m.grace_seconds as patience_seconds, m.confirmations,
       case b.reason when 'platform' then
         coalesce((select max(o.began_at) from ingest_outages o where o.began_at <= b.at), b.at) end as blind_since
     from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[]) as s (monitor_key, first, last)
       join monitors m on m.key = s.monitor_key
       cross join lateral (
         (select * from transitions t where t.monitor_key = s.monitor_key and t.at <= s.first order by t.at desc, t.id desc limit 1)
         union all
         select * from transitions t where t.monitor_key = s.monitor_key and t.at > s.first
           and t.at <= s.last + make_interval(secs => m.interval_seconds + m.grace_seconds)
       ) b
       cross join lateral (
         select * from transitions t where t.monitor_key = s.monitor_key and (t.at, t.id) > (b.at, b.id)
         order by t.at, t.id limit 1
       ) e
     where b.to_state = 'unknown' and e.at > b.at
       and not exists (select from transitions t where t.monitor_key = s.monitor_key and t.at = e.at and t.id > e.id)`,
    [
      spans.map(({ monitorKey }) => monitorKey),
      spans.map(({ first }) => new Date(first)),
      spans.map(({ last }) => new Date(last))
    ]
  )
}

/** Heartbeats in a row that say the same, none much later than the one before. */
export interface RunRow {
  /** Index of the blank. */
  place: number
  status: HeartbeatStatus
  first: Date
  last: Date
  count: number
  /** When so many of them were there as end an outage, or null. */
  recovered: Date | null
  sources: string[]
}

/** System-wide: what tells of these blanks, in order. Marks of pushes say nothing of a state. */
export async function listRuns(tx: Transaction, blanks: readonly BlankRow[]): Promise<RunRow[]> {
  const rows = await tx.query<Omit<RunRow, 'status'> & { status: number }>(
    `with beat as (
       select b.place, b.patience, h."timestamp" as at, h.status, h.source_id, m.recoveries,
         lag(h.status) over beats as said_before, lag(h."timestamp") over beats as at_before
       from (
         select place - 1 as place, monitor_key, began_at, ended_at, make_interval(secs => seconds) as patience
         from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::int[])
           with ordinality as u (monitor_key, began_at, ended_at, seconds, place)
       ) b
         join monitors m on m.key = b.monitor_key
         join heartbeats h on h.monitor_key = b.monitor_key and h.status < ${HEARTBEAT_STATUSES.length}
           and h."timestamp" >= b.began_at - b.patience and h."timestamp" < b.ended_at
       window beats as (partition by b.place order by h."timestamp", h.source_id)
     ), numbered as (
       select *, count(*) filter (where said_before is distinct from status or at - at_before > patience)
         over (partition by place order by at, source_id rows unbounded preceding) as run
       from beat
     )
     select place, status, min(at) as first, max(at) as last, count(*) as count,
       (array_agg(at order by at))[min(recoveries)] as recovered, array_agg(distinct source_id) as sources
     from numbered group by place, run, status order by place, run`,
    [
      blanks.map(({ monitor_key }) => monitor_key),
      blanks.map(({ began_at }) => began_at),
      blanks.map(({ ended_at }) => ended_at),
      blanks.map(({ patience_seconds }) => patience_seconds)
    ]
  )
  return rows.map((row) => ({ ...row, status: HEARTBEAT_STATUSES[row.status] as HeartbeatStatus }))
}

/** System-wide. */
export async function deleteTransitions(tx: Transaction, ids: readonly number[]): Promise<void> {
  await tx.query('delete from transitions where id = any ($1::bigint[])', [ids])
}
