import type { Transaction } from '../db.ts'
import type { HeartbeatStatus } from '../protocol/heartbeat.ts'
import { int2Array, int8Array, timestamptzArray, uuidArray } from './binary-format.ts'

export interface MonitorStateRow {
  monitor_key: number
  organization_id: string
  state: 'pending' | 'up' | 'down' | 'degraded' | 'unknown' | 'paused'
  state_reason: string
  state_since: Date
  observed: HeartbeatStatus | null
  streak: number
  streak_since: Date | null
  last_heartbeat_at: Date | null
  last_received_at: Date | null
  by_socket: boolean | null
  last_source_id: string | null
  other_sources: Record<string, number>
  other_votes: Record<string, HeartbeatStatus>
  running: boolean
  check_at: Date | null
  interval_seconds: number
  grace_seconds: number
  confirmations: number
  recoveries: number
  quorum: string
  max_runtime_seconds: number | null
}

/** Heartbeats as the database is asked about them: in columns, a line for each monitor, by ascending key. Times are epoch ms. */
export interface MonitorBeats {
  monitorKeys: Float64Array
  /** Who told them all, as of `uuidBytes`; zeroes when the whole fold is needed anyway. */
  sourceIds: Uint8Array
  /** What they all say, by which way (`steadyCode`). */
  steady: Uint8Array
  first: Float64Array
  last: Float64Array
  /** Receive time of the last to arrive. */
  received: Float64Array
}

/** As STEADY of a monitor that only goes on hearing the same. `status`: index in HEARTBEAT_STATUSES. */
export function steadyCode(status: number, bySocket: boolean): number {
  return 2 * status + Number(bySocket)
}

/**
 * Settings of a connection that writes monitor states: two workers must lock the same rows in the same order, and only a
 * nested loop keeps the order of the keys that it was given.
 */
export const WRITER_SETTINGS = { enable_hashjoin: 'off', enable_mergejoin: 'off' } as const

/**
 * What a heartbeat has to say, and by which way it has to come, to change nothing but times (`steadyCode`): null unless state
 * and last observation are the same, confirmed, and no run is open.
 */
const STEADY = `case when s.state = s.observed and s.streak = 0 and not s.running then
  (case s.state when 'up' then 0 when 'down' then 2 when 'degraded' then 4 end) + (case when s.by_socket then 1 else 0 end)
  end`
// Where others vote, one of them may have fallen silent meanwhile.
const SAYS_THE_SAME = `s.last_source_id = u.source_id and u.steady = ${STEADY} and s.other_votes = '{}'`
const GOES_ON = `s.last_heartbeat_at < u.first and ${SAYS_THE_SAME}`

/** The rows are locked in the order of their keys, so that two workers never wait for each other in a circle. */
const TOUCH = `
  with touched as (
    update monitor_states s
    set last_heartbeat_at = case when ${GOES_ON} then u.last else s.last_heartbeat_at end,
      last_received_at = case when ${GOES_ON} then greatest(s.last_received_at, u.received) else s.last_received_at end
    from (
      select unnest($1::bigint[]) as monitor_key, unnest($2::uuid[]) as source_id, unnest($3::smallint[]) as steady,
        unnest($4::timestamptz[]) as first, unnest($5::timestamptz[]) as last, unnest($6::timestamptz[]) as received
      order by monitor_key
    ) u
    where s.monitor_key = u.monitor_key
    returning case when ${SAYS_THE_SAME} and s.last_heartbeat_at >= u.last and s.state_since <= u.first
      then null else s.monitor_key end as unsettled
  )
  select count(*) as count, coalesce(array_agg(unsettled) filter (where unsettled is not null), '{}') as unsettled
  from touched`

export interface Touched {
  /** How many of the monitors exist. */
  count: number
  /** Those that the whole fold has to look at. */
  unsettled: number[]
}

/**
 * System-wide. Locks the states of these monitors and settles those whose heartbeats only go on saying what was said: same
 * source, same state. Such a monitor moves on, or stays when all of it is old, but not older than the state: that tells of
 * the past. Nearly every heartbeat is of this kind and so costs one probe and one update in place, instead of a lock, a read,
 * a fold and an update; nothing of it comes back but the count.
 */
export async function touchMonitorStates(tx: Transaction, beats: MonitorBeats): Promise<Touched> {
  const [touched] = await tx.query<{ count: number; unsettled: string[] }>(
    TOUCH,
    [
      int8Array(beats.monitorKeys),
      uuidArray(beats.sourceIds),
      int2Array(beats.steady),
      timestamptzArray(beats.first),
      timestamptzArray(beats.last),
      timestamptzArray(beats.received)
    ],
    'touch_monitor_states'
  )
  return { count: touched?.count ?? 0, unsettled: touched?.unsettled.map(Number) ?? [] }
}

/** System-wide: these monitors with their configuration, as this transaction, which holds their locks, has left them. */
export async function listMonitorStates(tx: Transaction, monitorKeys: readonly number[]): Promise<MonitorStateRow[]> {
  return tx.query<MonitorStateRow>(
    `select s.monitor_key, s.organization_id, s.state, s.state_reason, s.state_since, s.observed, s.streak, s.streak_since,
       s.last_heartbeat_at, s.last_received_at, s.by_socket, s.last_source_id, s.other_sources, s.other_votes, s.running,
       s.check_at, m.interval_seconds, m.grace_seconds, m.confirmations, m.recoveries, m.quorum, m.max_runtime_seconds
     from monitor_states s join monitors m on m.key = s.monitor_key
     where s.monitor_key = any($1::bigint[])
     order by s.monitor_key`,
    [int8Array(monitorKeys)]
  )
}

/** System-wide: those of these monitors that exist. */
export async function listExistingMonitors(tx: Transaction, monitorKeys: ArrayLike<number>): Promise<Set<number>> {
  const rows = await tx.query<{ monitor_key: number }>(
    'select monitor_key from monitor_states where monitor_key = any($1::bigint[])',
    [int8Array(monitorKeys)]
  )
  return new Set(rows.map(({ monitor_key }) => monitor_key))
}

/** What the fold of a group changes in one monitor. */
export interface MonitorStateChange {
  monitorKey: number
  state: string
  stateReason: string
  stateSince: Date
  observed: string | null
  streak: number
  streakSince: Date | null
  lastHeartbeatAt: Date | null
  lastReceivedAt: Date | null
  bySocket: boolean | null
  lastSourceId: string | null
  /** JSON text. */
  otherSources: string
  /** JSON text. */
  otherVotes: string
  /** When the sweep shall look at it. */
  checkAt: Date | null
}

/** System-wide. The rows must be locked by this transaction. */
export async function updateMonitorStates(tx: Transaction, changes: readonly MonitorStateChange[]): Promise<void> {
  await tx.query(
    `update monitor_states s
     set state = u.state, state_reason = u.reason, state_since = u.since, observed = u.observed, streak = u.streak,
       streak_since = u.streak_since, last_heartbeat_at = u.last, last_received_at = u.received, by_socket = u.by_socket,
       last_source_id = u.source_id, other_sources = u.others, other_votes = u.votes, check_at = u.check_at
     from unnest($1::bigint[], $2::monitor_state[], $3::text[], $4::timestamptz[], $5::monitor_state[], $6::smallint[],
         $7::timestamptz[], $8::timestamptz[], $9::timestamptz[], $10::boolean[], $11::uuid[], $12::jsonb[],
         $13::jsonb[], $14::timestamptz[])
       as u (monitor_key, state, reason, since, observed, streak, streak_since, last, received, by_socket, source_id, others,
         votes, check_at)
     where s.monitor_key = u.monitor_key`,
    [
      changes.map((change) => change.monitorKey),
      changes.map((change) => change.state),
      changes.map((change) => change.stateReason),
      changes.map((change) => change.stateSince),
      changes.map((change) => change.observed),
      changes.map((change) => change.streak),
      changes.map((change) => change.streakSince),
      changes.map((change) => change.lastHeartbeatAt),
      changes.map((change) => change.lastReceivedAt),
      changes.map((change) => change.bySocket),
      changes.map((change) => change.lastSourceId),
      changes.map((change) => change.otherSources),
      changes.map((change) => change.otherVotes),
      changes.map((change) => change.checkAt)
    ]
  )
}

/** A monitor and the time (epoch ms) of a record of it. */
export interface RecordMark {
  monitorKey: number
  at: number
}

/** System-wide: notes records that are newer than the last heartbeat. The rows must be locked by this transaction. */
export async function markRecords(tx: Transaction, marks: readonly RecordMark[]): Promise<void> {
  await tx.query(
    `update monitor_states s set last_record_at = greatest(s.last_record_at, u.at)
     from unnest($1::bigint[], $2::timestamptz[]) as u (monitor_key, at) where s.monitor_key = u.monitor_key`,
    [marks.map(({ monitorKey }) => monitorKey), marks.map(({ at }) => new Date(at))]
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
