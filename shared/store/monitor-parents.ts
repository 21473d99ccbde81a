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
