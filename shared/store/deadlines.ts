import type { Queryable, Transaction } from '../db.ts'
import type { MonitorKind } from '../protocol/frames.ts'
import { insertTransitions, type MonitorStateRow, type NewTransition } from './monitor-states.ts'

/** A monitor whose time to be looked at has come. */
export interface DueRow extends MonitorStateRow {
  /** Tells whether the row has changed since. */
  version: string
  counted_from: Date | null
  also_missed_at: Date | null
  kind: MonitorKind
  agent_is_target: boolean
  schedule: string | null
  timezone: string | null
}

/** Of a monitor without a schedule, when ingest was always there. */
const DEADLINE =
  "greatest(s.last_received_at, s.counted_from) + (m.interval_seconds + m.grace_seconds) * interval '1 second'"

/** Its agents may disagree: other_votes are seldom there at all. */
const SPLIT =
  "s.other_votes <> '{}' and jsonb_path_exists(s.other_votes, '$.* ? (@ != $said)', jsonb_build_object('said', s.observed))"

/**
 * System-wide. Puts off the look at monitors that were heard of in time, at most so many; returns how many. Rows that a
 * writer holds are left to the next round: they are being heard of now.
 */
export async function putOffChecks(db: Queryable, watermark: Date, limit: number): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `with due as (
       select s.monitor_key,
         ${DEADLINE} as deadline
       from monitor_states s join monitors m on m.key = s.monitor_key
       where s.check_at <= $1 and not s.running and s.state <> 'paused' and m.schedule is null
         and s.last_received_at is not null and ${DEADLINE} > $1 and not (${SPLIT})
       order by s.check_at limit $2
       for update of s skip locked
     ), moved as (
       update monitor_states s set check_at = due.deadline from due where s.monitor_key = due.monitor_key returning 1
     )
     select count(*) as count from moved`,
    [watermark, limit],
    'put_off_checks'
  )
  return row?.count ?? 0
}

/** System-wide: those that have to be judged, the longest due first. */
export function listDue(db: Queryable, watermark: Date, limit: number): Promise<DueRow[]> {
  return db.query<DueRow>(
    `select s.monitor_key, s.organization_id, s.xmin::text as version, s.state, s.state_reason, s.state_since,
       s.observed, s.streak, s.streak_since, s.last_heartbeat_at, s.last_received_at, s.by_socket, s.last_source_id,
       s.other_sources, s.other_votes, s.running, s.check_at, s.counted_from, s.also_missed_at, m.kind,
       m.interval_seconds, m.grace_seconds, m.schedule, m.timezone, m.confirmations, m.recoveries, m.quorum,
       m.max_runtime_seconds, m.agent_is_target
     from monitor_states s join monitors m on m.key = s.monitor_key
     where s.check_at <= $1 order by s.check_at limit $2`,
    [watermark, limit],
    'list_due'
  )
}

/** System-wide: the agents and services that may report these monitors. */
export function listAgentsOf(
  db: Queryable,
  monitorKeys: readonly number[]
): Promise<Array<{ monitor_key: number; agent_id: string; last_seen_at: Date | null }>> {
  return db.query(
    `select am.monitor_key, am.agent_id, a.last_seen_at from agent_monitors am join agents a on a.id = am.agent_id
     where am.monitor_key = any($1::bigint[])`,
    [monitorKeys]
  )
}

/** What was found of a row of `listDue`. */
export interface Judgement {
  monitorKey: number
  version: string
  checkAt: Date | null
  alsoMissedAt: Date | null
  transition: NewTransition | null
}

/**
 * System-wide. Writes what was found, with its transitions, for the rows that are still what they were when they were read;
 * returns their keys. However many sweep, each row goes to one of them.
 */
export async function settleDue(tx: Transaction, judgements: readonly Judgement[]): Promise<Set<number>> {
  const rows = await tx.query<{ monitor_key: number }>(
    `with judged as (
       select * from unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::monitor_state[], $6::text[],
         $7::timestamptz[]) as u (monitor_key, version, check_at, also_missed_at, state, reason, since)
     ), held as (
       select j.* from judged j join monitor_states s on s.monitor_key = j.monitor_key and s.xmin::text = j.version
       for update of s skip locked
     )
     update monitor_states s
     set check_at = h.check_at, also_missed_at = coalesce(h.also_missed_at, s.also_missed_at),
       state = coalesce(h.state, s.state), state_reason = coalesce(h.reason, s.state_reason),
       state_since = coalesce(h.since, s.state_since), streak = case when h.state is null then s.streak else 0 end,
       streak_since = case when h.state is null then s.streak_since end
     from held h where s.monitor_key = h.monitor_key
     returning s.monitor_key`,
    [
      judgements.map(({ monitorKey }) => monitorKey),
      judgements.map(({ version }) => version),
      judgements.map(({ checkAt }) => checkAt),
      judgements.map(({ alsoMissedAt }) => alsoMissedAt),
      judgements.map(({ transition }) => transition?.to ?? null),
      judgements.map(({ transition }) => transition?.reason ?? null),
      judgements.map(({ transition }) => transition?.at ?? null)
    ],
    'settle_due'
  )
  const settled = new Set(rows.map(({ monitor_key }) => monitor_key))
  const transitions = judgements.flatMap(({ monitorKey, transition }) =>
    transition !== null && settled.has(monitorKey) ? [transition] : []
  )
  if (transitions.length > 0) await insertTransitions(tx, transitions)
  return settled
}

/** System-wide, in the transaction that settled these monitors: the vote of these sources counts no more. */
export async function dropVotes(
  tx: Transaction,
  gone: ReadonlyArray<{ monitorKey: number; sourceId: string }>
): Promise<void> {
  await tx.query(
    `update monitor_states s
     set other_votes = s.other_votes - g.sources,
       other_sources = case when s.last_source_id::text = any(g.sources)
         then s.other_sources || jsonb_build_object(s.last_source_id, round(extract(epoch from s.last_heartbeat_at) * 1000))
         else s.other_sources end,
       last_source_id = case when s.last_source_id::text <> all(g.sources) then s.last_source_id end
     from (
       select monitor_key, array_agg(source_id) as sources from unnest($1::bigint[], $2::text[]) as u (monitor_key, source_id)
       group by monitor_key
     ) g where s.monitor_key = g.monitor_key`,
    [gone.map(({ monitorKey }) => monitorKey), gone.map(({ sourceId }) => sourceId)]
  )
}
