import type { Transaction } from '../db.ts'
import { insertTransitions, type MonitorStateRow } from './monitor-states.ts'
import { type NotedTransition, recordAlerts } from './outbox.ts'

interface Which {
  organizationId: string
  ids: readonly string[]
  at: Date
}

export interface Switched {
  id: string
  name: string
  transition: NotedTransition
}

interface SwitchedRow extends Omit<Switched, 'transition'> {
  monitor_key: number
  from_state: MonitorStateRow['state']
  to_state: MonitorStateRow['state']
  reason: string
  since: Date
}

/** The rows are locked in the order of their keys, as the workers do it. */
const HELD = `
  with held as (
    select s.monitor_key, s.state, m.id, m.name
    from monitor_states s join monitors m on m.key = s.monitor_key
    where m.organization_id = $1 and s.organization_id = $1 and m.id = any($2::uuid[])
    order by s.monitor_key for update of s
  )`

async function note(tx: Transaction, { organizationId, at }: Which, rows: readonly SwitchedRow[]): Promise<Switched[]> {
  const switched = rows.map(({ id, name, monitor_key, from_state, to_state, since, reason }) => {
    const transition = { monitorKey: monitor_key, organizationId, from: from_state, to: to_state, at: since, reason }
    return { id, name, transition }
  })
  const transitions = switched.map(({ transition }) => transition)
  if (transitions.length > 0) await insertTransitions(tx, transitions)
  await recordAlerts(tx, transitions, at)
  return switched
}

/** Pauses those of these monitors that are not paused yet, with their transitions; returns them. */
export async function pauseMonitors(tx: Transaction, which: Which): Promise<Switched[]> {
  const rows = await tx.query<SwitchedRow>(
    `${HELD}
     update monitor_states s
     set state = 'paused', state_reason = 'paused', state_since = greatest($3, s.state_since), check_at = null, streak = 0,
       streak_since = null
     from held h where s.monitor_key = h.monitor_key and h.state <> 'paused'
     returning s.monitor_key, h.id, h.name, h.state as from_state, s.state as to_state, s.state_reason as reason,
       s.state_since as since`,
    [which.organizationId, which.ids, which.at]
  )
  return note(tx, which, rows)
}

/** Resumes those that are paused. Silence is counted from now, of monitors that were ever heard of. */
export async function resumeMonitors(tx: Transaction, which: Which): Promise<Switched[]> {
  const rows = await tx.query<SwitchedRow>(
    `${HELD}
     update monitor_states s
     set state = 'pending', state_reason = 'resumed', state_since = greatest($3, s.state_since), counted_from = $3,
       check_at = case when s.last_received_at is not null or s.running then $3 end
     from held h where s.monitor_key = h.monitor_key and h.state = 'paused'
     returning s.monitor_key, h.id, h.name, h.state as from_state, s.state as to_state, s.state_reason as reason,
       s.state_since as since`,
    [which.organizationId, which.ids, which.at]
  )
  return note(tx, which, rows)
}

/** System-wide: those of these monitors that a heartbeat resumes. */
export async function listResumingOnPing(tx: Transaction, monitorKeys: readonly number[]): Promise<Set<number>> {
  const rows = await tx.query<{ key: number }>(
    'select key from monitors where key = any ($1::bigint[]) and resume_on_ping',
    [monitorKeys]
  )
  return new Set(rows.map(({ key }) => key))
}

/**
 * The sweep counts the votes on these monitors anew, where there are several: their rule is another, or an agent is none of
 * theirs any more. Locked in the order of their keys, as above.
 */
export async function recountVotes(tx: Transaction, { organizationId, ids, at }: Which): Promise<void> {
  await tx.query(
    `with held as (
       select s.monitor_key from monitor_states s join monitors m on m.key = s.monitor_key
       where m.organization_id = $1 and s.organization_id = $1 and m.id = any($2::uuid[]) and s.state <> 'paused'
         and s.other_votes <> '{}'
       order by s.monitor_key for update of s
     )
     update monitor_states s set check_at = least(s.check_at, $3) from held h where s.monitor_key = h.monitor_key`,
    [organizationId, ids, at]
  )
}

/** After a change of its timing silence is counted from `at`; without a longest run time open runs are forgotten. */
export async function restartClock(
  tx: Transaction,
  {
    organizationId,
    monitorKey,
    at,
    keepRuns
  }: { organizationId: string; monitorKey: number; at: Date; keepRuns: boolean }
): Promise<void> {
  if (!keepRuns) {
    await tx.query('delete from monitor_runs where organization_id = $1 and monitor_key = $2', [
      organizationId,
      monitorKey
    ])
  }
  await tx.query(
    `update monitor_states s
     set counted_from = $3, running = s.running and $4,
       check_at = case when s.state <> 'paused' and (s.last_received_at is not null or s.running) then $3::timestamptz end
     where s.organization_id = $1 and s.monitor_key = $2`,
    [organizationId, monitorKey, at, keepRuns]
  )
}
