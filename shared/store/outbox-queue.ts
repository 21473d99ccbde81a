import type { Queryable, Transaction } from '../db.ts'
import { mayFollow } from './monitor-parents.ts'
import type { AlertEvent, AlertStatus } from './outbox.ts'

/** A row of the outbox whose time has come, with what a message says of its monitor or agent. */
export interface DueAlert {
  id: string
  organization_id: string
  event: AlertEvent
  opens: boolean
  monitor_key: number | null
  agent_id: string | null
  from_state: string
  to_state: string
  at: Date
  reason: string
  began_at: Date | null
  status: AlertStatus
  cause: string | null
  ended_at: Date | null
  /** The monitor, or the agent. */
  subject_id: string
  name: string
  kind: string
  target: string | null
  tags: string[] | null
  /** Of the monitor, now. */
  state: string | null
}

/**
 * System-wide: the rows whose time has come, oldest first, for this transaction alone. Waits for nobody: what is being
 * written or worked on is left out.
 */
export function lockDueAlerts(tx: Transaction, now: Date, limit: number): Promise<DueAlert[]> {
  return tx.query<DueAlert>(
    `select o.id, o.organization_id, o.event, o.opens, o.monitor_key, o.agent_id, o.from_state, o.to_state, o.at, o.reason,
       o.began_at, o.status, o.cause, o.ended_at, coalesce(m.id, a.id) as subject_id, coalesce(m.name, a.name) as name,
       coalesce(m.kind, a.kind) as kind, m.target, m.tags, s.state
     from (
       select * from alert_outbox where status in ('due', 'held') and due_at <= $1
       order by due_at, id limit $2 for update skip locked
     ) o
       left join monitors m on m.key = o.monitor_key
       left join monitor_states s on s.monitor_key = o.monitor_key
       left join agents a on a.id = o.agent_id
     order by o.due_at, o.id`,
    [now, limit]
  )
}

export interface Decision {
  id: string
  status: AlertStatus
  cause: string | null
  dueAt: Date
}

/** System-wide: what became of rows that this transaction has locked. */
export async function decideAlerts(tx: Transaction, decisions: readonly Decision[]): Promise<void> {
  await tx.query(
    `update alert_outbox o set status = d.status, cause = d.cause, due_at = d.due_at
     from unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[]) as d (id, status, cause, due_at) where o.id = d.id`,
    [
      decisions.map(({ id }) => id),
      decisions.map(({ status }) => status),
      decisions.map(({ cause }) => cause),
      decisions.map(({ dueAt }) => dueAt)
    ]
  )
}

/** System-wide: the monitors of these agents of which nothing is known because of that. */
export function listLostMonitors(
  db: Queryable,
  agentIds: readonly string[]
): Promise<Array<{ agent_id: string; id: string; name: string }>> {
  return db.query(
    `select am.agent_id, m.id, m.name
     from agent_monitors am join monitors m on m.key = am.monitor_key join monitor_states s on s.monitor_key = m.key
     where am.agent_id = any ($1::uuid[]) and s.state = 'unknown' order by m.id`,
    [agentIds]
  )
}

/**
 * System-wide: outages that were muted and whose parents are no longer down. Each has one interval and grace more to
 * recover by itself; then it is decided anew. This finds a parent that recovered as well as one that was paused, deleted
 * or taken off.
 */
export async function unmuteAlerts(db: Queryable, now: Date): Promise<void> {
  await db.query(
    `update alert_outbox o
     set status = 'held', cause = 'parent_back',
       due_at = $1::timestamptz + make_interval(secs => m.interval_seconds + m.grace_seconds)
     from monitors m
     where o.status = 'muted' and o.ended_at is null and m.key = o.monitor_key and not exists (
       with recursive upwards (ancestor) as (
         select p.parent_key from monitor_parents p where p.monitor_key = o.monitor_key
         union
         select p.parent_key from upwards u join monitor_parents p on p.monitor_key = u.ancestor
       )
       select from upwards u join monitor_states s on s.monitor_key = u.ancestor where s.state = 'down')`,
    [now]
  )
}

/**
 * System-wide: outages that wait for what they depend on are decided as soon as all of that was heard of, or one of it is
 * down.
 */
export async function settleAlerts(db: Queryable, now: Date): Promise<void> {
  await db.query(
    `update alert_outbox o set due_at = $1
     where o.status = 'held' and o.cause = 'settling' and o.event = 'down' and o.due_at > $1 and (
       with recursive upwards (ancestor) as (
         select p.parent_key from monitor_parents p where p.monitor_key = o.monitor_key
         union
         select p.parent_key from upwards u join monitor_parents p on p.monitor_key = u.ancestor
       )
       select coalesce(bool_or(s.state = 'down') or not bool_or(${mayFollow('o.at')}), true)
       from upwards u join monitors m on m.key = u.ancestor join monitor_states s on s.monitor_key = u.ancestor)`,
    [now]
  )
}

/** System-wide: what began and will never be seen to end (monitors paused meanwhile, agents that have none left) is over. */
export async function endForgotten(db: Queryable, now: Date): Promise<void> {
  await db.query(
    `update alert_outbox o
     set ended_at = $1, status = case when o.status = 'told' then o.status else 'dropped' end,
       cause = case when o.status = 'told' then o.cause else 'recovered' end
     where o.opens and o.ended_at is null and o.due_at <= $1 and (
       o.event = 'down' and exists (
         select from monitor_states s where s.monitor_key = o.monitor_key and s.state in ('paused', 'pending'))
       or o.event = 'agent' and not exists (
         select from agent_monitors am join monitor_states s on s.monitor_key = am.monitor_key
         where am.agent_id = o.agent_id and s.state = 'unknown'))`,
    [now]
  )
}

/** System-wide. What is not over is kept, and so is what is told only once. Returns how many went, at most `limit`. */
export async function deleteOldAlerts(db: Queryable, before: Date, limit: number): Promise<number> {
  const rows = await db.query(
    `delete from alert_outbox where id in (
       select id from alert_outbox
       where created_at < $1 and status in ('told', 'dropped') and event <> 'pending' and (ended_at is not null or not opens or event in ('degraded', 'unknown'))
       limit $2)
     returning id`,
    [before, limit]
  )
  return rows.length
}
