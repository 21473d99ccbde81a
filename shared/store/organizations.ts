import type { Queryable } from '../db.ts'

export interface Organization {
  id: string
  name: string
  plan: string
}

export async function insertOrganization(db: Queryable, { id, name, plan }: Organization): Promise<void> {
  await db.query('insert into organizations (id, name, plan) values ($1, $2, $3)', [id, name, plan])
}
