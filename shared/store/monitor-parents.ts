import type { Queryable } from '../db.ts'

/** System-wide: those of these monitors that depend, directly or by others, on one that is down. */
export async function findMutedByParents(db: Queryable, monitorKeys: readonly number[]): Promise<Set<number>> {
  if (monitorKeys.length === 0) return new Set()
  const rows = await db.query<{ monitor_key: number }>(
    `with recursive upwards (monitor_key, ancestor) as (
       select monitor_key, parent_key from monitor_parents where monitor_key = any ($1::bigint[])
       union
       select u.monitor_key, p.parent_key from upwards u join monitor_parents p on p.monitor_key = u.ancestor
     )
     select distinct u.monitor_key from upwards u join monitor_states s on s.monitor_key = u.ancestor where s.state = 'down'`,
    [monitorKeys]
  )
  return new Set(rows.map(({ monitor_key }) => monitor_key))
}

/** One that reports more rarely tells nothing while somebody waits. */
const LONGEST_INTERVAL_SECONDS = 300
/** So long at most is waited for it, and so much longer until what it told, or did not tell, is written. */
const LONGEST_WAIT_SECONDS = 300
const MARGIN_SECONDS = 5

/**
 * May it be found to be down soon, and so be why another one is down since `at`? Not when it was heard of since then. Of
 * monitors m and their states s.
 */
export function mayFollow(at: string): string {
  return `(s.state in ('up', 'degraded') and m.interval_seconds <= ${LONGEST_INTERVAL_SECONDS}
    and (s.last_received_at <= ${at} or s.streak > 0))`
}

/**
 * System-wide: of these monitors, that are down since a time (epoch ms), those that depend on others of which nobody can know
 * yet whether they are down as well; with the seconds after which that is known.
 */
export async function findAwaitedParents(
  db: Queryable,
  down: ReadonlyMap<number, number>
): Promise<Map<number, number>> {
  if (down.size === 0) return new Map()
  const rows = await db.query<{ monitor_key: number; seconds: number }>(
    `with recursive upwards (monitor_key, at, ancestor) as (
       select d.monitor_key, d.at, p.parent_key
       from unnest($1::bigint[], $2::timestamptz[]) as d (monitor_key, at) join monitor_parents p using (monitor_key)
       union
       select u.monitor_key, u.at, p.parent_key from upwards u join monitor_parents p on p.monitor_key = u.ancestor
     )
     select u.monitor_key, ${MARGIN_SECONDS} + max(
       least(m.interval_seconds * m.confirmations + m.grace_seconds, ${LONGEST_WAIT_SECONDS})) as seconds
     from upwards u join monitors m on m.key = u.ancestor join monitor_states s on s.monitor_key = u.ancestor
     where ${mayFollow('u.at')}
     group by u.monitor_key`,
    [[...down.keys()], [...down.values()].map((at) => new Date(at))]
  )
  return new Map(rows.map(({ monitor_key, seconds }) => [monitor_key, seconds]))
}

/** Does one of these depend, directly or by others, on the monitor? Then the monitor must not depend on it. */
export async function dependsOn(
  db: Queryable,
  organizationId: string,
  parentKeys: readonly number[],
  monitorKey: number
): Promise<boolean> {
  const rows = await db.query(
    `with recursive upwards (key) as (
       select unnest($2::bigint[])
       union
       select p.parent_key from upwards u join monitor_parents p on p.monitor_key = u.key and p.organization_id = $1
     )
     select from upwards where key = $3`,
    [organizationId, parentKeys, monitorKey]
  )
  return rows.length > 0
}

/** Two changes at once could each be without a circle, and together make one: one waits for the other. */
export async function lockParents(db: Queryable, organizationId: string): Promise<void> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 7))', [organizationId])
}

export async function replaceParents(
  db: Queryable,
  organizationId: string,
  monitorKey: number,
  parentKeys: readonly number[]
): Promise<void> {
  await db.query('delete from monitor_parents where organization_id = $1 and monitor_key = $2', [
    organizationId,
    monitorKey
  ])
  await db.query(
    `insert into monitor_parents (organization_id, monitor_key, parent_key)
     select $1, $2, parent from (select distinct unnest($3::bigint[]) as parent) as parents`,
    [organizationId, monitorKey, parentKeys]
  )
}
