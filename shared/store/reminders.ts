import { v7 as uuidv7 } from 'uuid'
import type { Database, Queryable, Transaction } from '../db.ts'
import { findMaintenanceEnds } from './maintenance.ts'

/** So long a monitor may wait for its first heartbeat, in milliseconds. */
const PATIENCE_MS = 3 * 86_400_000
/** Monitors of one transaction. */
const AT_ONCE = 500

/**
 * System-wide: monitors behind this key that wait since then for their first heartbeat, and of which nobody was told so, in
 * the order of their keys. A mark such as start or log is a sign of life.
 */
async function listSilent(db: Queryable, since: Date, afterKey: number): Promise<number[]> {
  const rows = await db.query<{ monitor_key: number }>(
    `select s.monitor_key from monitor_states s
     where s.state = 'pending' and s.state_since <= $1 and s.last_heartbeat_at is null and s.last_record_at is null
       and s.monitor_key > $2
       and not exists (select from alert_outbox o where o.monitor_key = s.monitor_key and o.event = 'pending')
     order by s.monitor_key limit $3`,
    [since, afterKey, AT_ONCE]
  )
  return rows.map(({ monitor_key }) => monitor_key)
}

async function insertReminders(db: Queryable, monitorKeys: readonly number[], now: Date): Promise<void> {
  await db.query(
    `insert into alert_outbox (id, organization_id, event, opens, monitor_key, from_state, to_state, at, reason, status,
       due_at, created_at)
     select r.id, s.organization_id, 'pending', false, s.monitor_key, s.state, s.state, s.state_since, 'never_heard', 'due',
       $3::timestamptz, $3
     from unnest($1::uuid[], $2::bigint[]) as r (id, monitor_key) join monitor_states s using (monitor_key)
     on conflict (monitor_key) where event = 'pending' do nothing`,
    [monitorKeys.map(() => uuidv7()), monitorKeys, now]
  )
}

/** Reminds of the next ones; resolves to the last of them, or null when there are no more. */
async function remindOfSome(tx: Transaction, afterKey: number, now: Date): Promise<number | null> {
  const keys = await listSilent(tx, new Date(now.getTime() - PATIENCE_MS), afterKey)
  const maintenance = await findMaintenanceEnds(tx, new Map(keys.map((key) => [key, now.getTime()])))
  const told = keys.filter((key) => !maintenance.has(key))
  if (told.length > 0) await insertReminders(tx, told, now)
  return keys.at(-1) ?? null
}

/**
 * System-wide: leaves in the outbox that a monitor still waits for its first heartbeat three days after it was made, or
 * resumed. Once for each monitor, whoever asks and however often; within maintenance not yet.
 */
export async function remindOfSilent(db: Database, now: Date): Promise<void> {
  let last: number | null = 0
  while (last !== null) {
    const after: number = last
    last = await db.transaction((tx) => remindOfSome(tx, after, now))
  }
}
