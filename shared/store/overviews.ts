import type { MonitorState } from '../contract/monitors.ts'
import type { Queryable } from '../db.ts'
import { RECORD_STATUSES, type RecordStatus } from '../protocol/heartbeat.ts'
import type { TransitionRow } from './transitions.ts'

/** Monitors of one organization, by their internal keys. */
interface Monitors {
  organizationId: string
  monitorKeys: readonly number[]
}

/** Seconds that count as up, and those of which anything is known, by window in the order asked for. */
export interface UptimeRow {
  monitor_key: number
  good: number[]
  known: number[]
}

/**
 * Adds up state changes since the longest window began: a change tells the state before it too, so nothing older is read.
 * `since`: where each window begins, epoch ms.
 */
export function sumUptimes(
  db: Queryable,
  { organizationId, monitorKeys }: Monitors,
  since: readonly number[],
  now: number
): Promise<UptimeRow[]> {
  return db.query<UptimeRow>(
    `with changes as (
       select monitor_key, from_state, to_state, at, id,
         lead(at) over (partition by monitor_key order by at, id) as next_at,
         row_number() over (partition by monitor_key order by at, id) as n
       from transitions
       where organization_id = $1 and monitor_key = any ($2::bigint[]) and at >= $4 and at < $5
     ), spans as (
       select monitor_key, to_state as state, at as began, coalesce(next_at, $5) as ended from changes
       union all
       select m.key, coalesce(c.from_state, s.state), greatest($4, least(m.created_at, c.at)), coalesce(c.at, $5)
       from monitors m join monitor_states s on s.monitor_key = m.key
         left join changes c on c.monitor_key = m.key and c.n = 1
       where m.organization_id = $1 and m.key = any ($2::bigint[])
     ), sums as (
       select s.monitor_key, w.n,
         coalesce(sum(extract(epoch from s.ended - greatest(s.began, w.since)))
           filter (where s.state in ('up', 'degraded')), 0)::float8 as good,
         coalesce(sum(extract(epoch from s.ended - greatest(s.began, w.since)))
           filter (where s.state in ('up', 'degraded', 'down')), 0)::float8 as known
       from spans s join unnest($3::timestamptz[]) with ordinality as w (since, n) on s.ended > w.since
       group by s.monitor_key, w.n
     )
     select monitor_key, array_agg(good order by n) as good, array_agg(known order by n) as known
     from sums group by monitor_key`,
    [organizationId, monitorKeys, since.map((at) => new Date(at)), new Date(Math.min(...since)), new Date(now)]
  )
}

/** State changes of these monitors in [from, to), epoch ms, by monitor and in order. */
export function listChanges(
  db: Queryable,
  { organizationId, monitorKeys }: Monitors,
  from: number,
  to: number
): Promise<Array<Pick<TransitionRow, 'from_state' | 'to_state' | 'at'> & { monitor_key: number }>> {
  return db.query(
    `select monitor_key, from_state, to_state, at from transitions
     where organization_id = $1 and monitor_key = any ($2::bigint[]) and at >= $3 and at < $4
     order by monitor_key, at, id`,
    [organizationId, monitorKeys, new Date(from), new Date(to)]
  )
}

/** Buckets that hold heartbeats: the place of each from `from`, the worst status in it, and the mean latency. */
export interface RecentRow {
  monitor_key: number
  places: number[]
  statuses: Array<Extract<MonitorState, 'up' | 'degraded' | 'down'>>
  latencies: Array<number | null>
}

function status(name: RecordStatus): number {
  return RECORD_STATUSES.indexOf(name)
}

const STEP = "interval '300 seconds'"

/** Of rollups as far as they are, of heartbeats from there on. `from` is where a bucket of five minutes begins, epoch ms. */
export function listRecent(
  db: Queryable,
  { organizationId, monitorKeys }: Monitors,
  from: number,
  rolledUntil: number
): Promise<RecentRow[]> {
  const said = (name: RecordStatus) => `count(*) filter (where status = ${status(name)})`
  const answered = `status in (${status('up')}, ${status('degraded')})`
  return db.query<RecentRow>(
    `select monitor_key, array_agg((extract(epoch from at - $3) / 300)::int) as places,
       array_agg(case when down > 0 then 'down' when degraded > 0 then 'degraded' else 'up' end) as statuses,
       array_agg(round(1000 * latency_sum / nullif(latency_n, 0)) / 1000) as latencies
     from (
       select monitor_key, at, up, down, degraded, latency_n, latency_sum from rollups_5m
       where organization_id = $1 and monitor_key = any ($2::bigint[]) and at >= $3 and at < $4
       union all
       select monitor_key, date_bin(${STEP}, "timestamp", $3), ${said('up')}, ${said('down')}, ${said('degraded')},
         count(latency) filter (where ${answered}), sum(latency) filter (where ${answered})
       from heartbeats
       where organization_id = $1 and monitor_key = any ($2::bigint[]) and "timestamp" >= greatest($3, $4::timestamptz)
       group by 1, 2
     ) buckets
     where up + down + degraded > 0
     group by monitor_key`,
    [organizationId, monitorKeys, new Date(from), new Date(rolledUntil)]
  )
}
