import type { Queryable } from '../db.ts'

/** How many of these an organization has. */
export async function countOf(db: Queryable, organizationId: string, table: 'monitors' | 'agents'): Promise<number> {
  const [row] = await db.query<{ count: number }>(`select count(*) from ${table} where organization_id = $1`, [
    organizationId
  ])
  return row?.count ?? 0
}
