import type { Queryable } from '../db.ts'
import type { PlanRow } from '../plans.ts'
import type { Rollup } from './rollups.ts'

/** What is deleted row by row. */
export type Kept = Rollup | 'transitions'

/** A monitor that has rows; its plan is null when it is gone. */
export interface KeptMonitor extends Omit<PlanRow, 'plan'> {
  monitor_key: number
  plan: string | null
}

function tableOf(kept: Kept): string {
  return kept === 'transitions' ? kept : `rollups_${kept}`
}

/**
 * System-wide: the next monitors (by key) that have rows of this kind, with the plan of their organization. Leaps from key to key
 * along the index.
 */
export function listKeptMonitors(db: Queryable, kept: Kept, after: number, limit: number): Promise<KeptMonitor[]> {
  const table = tableOf(kept)
  return db.query<KeptMonitor>(
    `with recursive keys as (
       (select monitor_key from ${table} where monitor_key > $1 order by monitor_key limit 1)
       union all
       select (select t.monitor_key from ${table} t where t.monitor_key > k.monitor_key order by t.monitor_key limit 1)
       from keys k where k.monitor_key is not null
     ), page as (select monitor_key from keys where monitor_key is not null limit $2)
     select p.monitor_key, o.plan, o.plan_changed_at, o.previous_retention
     from page p left join monitors m on m.key = p.monitor_key left join organizations o on o.id = m.organization_id
     order by p.monitor_key`,
    [after, limit]
  )
}

/** What of a monitor is older than `before` (epoch ms; infinite: all of it). */
export interface Cutoff {
  monitorKey: number
  before: number
}

/** The change that tells the state at the cutoff stays, however old it is. */
const NEWER_ONE = `and exists (select from transitions n where n.monitor_key = t.monitor_key and n.at < u.before
  and (n.at, n.id) > (t.at, t.id))`

/** System-wide: deletes what is older. Returns the number of rows. */
export async function deleteOlder(db: Queryable, kept: Kept, cutoffs: readonly Cutoff[]): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `with gone as (
       delete from ${tableOf(kept)} t using (
         select * from unnest($1::bigint[], $2::timestamptz[]) as c (monitor_key, before)
       ) u
       where t.monitor_key = u.monitor_key and t.at < u.before ${kept === 'transitions' ? NEWER_ONE : ''}
       returning 1
     ) select count(*) from gone`,
    [
      cutoffs.map(({ monitorKey }) => monitorKey),
      cutoffs.map(({ before }) => (Number.isFinite(before) ? new Date(before).toISOString() : 'infinity'))
    ]
  )
  return row?.count ?? 0
}

/** System-wide: whoever is told `true` deletes; nobody else within `everyMs`. */
export async function claimRetention(db: Queryable, now: number, everyMs: number): Promise<boolean> {
  const rows = await db.query('update rollup_state set retained_at = $1 where retained_at <= $2 returning 1', [
    new Date(now),
    new Date(now - everyMs)
  ])
  return rows.length > 0
}
