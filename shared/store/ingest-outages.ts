import type { Queryable, Transaction } from '../db.ts'

export interface OutageRow {
  began_at: Date
  ended_at: Date
}

/** System-wide: when a sweep last saw that heartbeats can get in, or null before the first. Other sweeps wait for this one. */
export async function lockAvailability(tx: Transaction): Promise<Date | null> {
  const [row] = await tx.query<{ available_at: Date }>('select available_at from sweep_state for update')
  return row?.available_at ?? null
}

/** System-wide. */
export async function noteAvailability(tx: Transaction, at: Date, watermark: Date): Promise<void> {
  await tx.query(
    `insert into sweep_state (available_at, watermark_at) values ($1, $2)
     on conflict (only_row) do update set available_at = greatest(sweep_state.available_at, $1),
       watermark_at = greatest(sweep_state.watermark_at, $2)`,
    [at, watermark]
  )
}

/** System-wide: an outage begins, unless one is open. */
export async function openOutage(tx: Transaction, beganAt: Date): Promise<void> {
  await tx.query('insert into ingest_outages (began_at) values ($1) on conflict do nothing', [beganAt])
}

/** System-wide: the open outage ends; returns whether there was one. */
export async function closeOutage(tx: Transaction, endedAt: Date): Promise<boolean> {
  const rows = await tx.query(
    `update ingest_outages set ended_at = greatest($1, began_at + interval '1 millisecond') where ended_at is null
     returning began_at`,
    [endedAt]
  )
  return rows.length > 0
}

/** System-wide: outages that are over, since `since`, in order. */
export function listOutages(db: Queryable, since: Date): Promise<OutageRow[]> {
  return db.query<OutageRow>('select began_at, ended_at from ingest_outages where ended_at > $1 order by began_at', [
    since
  ])
}

/** System-wide: the first outage that ended before `before` and is not painted yet. */
export async function findUnpainted(db: Queryable, before: Date): Promise<OutageRow | undefined> {
  const [row] = await db.query<OutageRow>(
    `select began_at, ended_at from ingest_outages where ended_at <= $1 and painted_at is null order by began_at limit 1`,
    [before]
  )
  return row
}

/** System-wide: locks the states of the monitors after this key, in the order in which writers of heartbeats do. */
export async function lockMonitors(tx: Transaction, after: number, limit: number): Promise<number[]> {
  const rows = await tx.query<{ monitor_key: number }>(
    'select monitor_key from monitor_states where monitor_key > $1 order by monitor_key limit $2 for no key update',
    [after, limit]
  )
  return rows.map(({ monitor_key }) => monitor_key)
}

/** System-wide. */
export async function markPainted(db: Queryable, { began_at }: OutageRow, at: Date): Promise<void> {
  await db.query('update ingest_outages set painted_at = $2 where began_at = $1', [began_at, at])
}

/**
 * System-wide. Makes the span unknown in the transitions of those of these monitors that were blind in it: they had a state,
 * the state did not change meanwhile, and no heartbeat of that time was handed in later. Their states must be locked by
 * statements before: who writes heartbeats of them now may tell otherwise. Doing it again changes nothing. Returns how many.
 */
export async function paintOutage(
  tx: Transaction,
  { began_at, ended_at }: OutageRow,
  monitorKeys: readonly number[]
): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `with blind as (
       select s.monitor_key, s.organization_id, before.to_state as state
       from monitor_states s, lateral (
         select t.to_state from transitions t where t.monitor_key = s.monitor_key and t.at <= $1
         order by t.at desc, t.id desc limit 1) before
       where s.monitor_key = any ($3::bigint[]) and before.to_state in ('up', 'down', 'degraded')
         and not exists (select from transitions t where t.monitor_key = s.monitor_key and t.at > $1 and t.at <= $2)
         and not exists (select from heartbeats h
           where h.monitor_key = s.monitor_key and h."timestamp" >= $1 and h."timestamp" < $2)
     ), painted as (
       insert into transitions (monitor_key, organization_id, from_state, to_state, at, reason)
       select monitor_key, organization_id, state, 'unknown', $1, 'platform' from blind
       union all
       select monitor_key, organization_id, 'unknown', state, $2, 'platform' from blind
       returning 1
     )
     select count(*) / 2 as count from painted`,
    [began_at, ended_at, monitorKeys]
  )
  return row?.count ?? 0
}
