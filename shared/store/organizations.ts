import type { Queryable } from '../db.ts'
import type { PlanRow } from '../plans.ts'

export interface Organization {
  id: string
  name: string
  plan: string
}

export async function insertOrganization(db: Queryable, { id, name, plan }: Organization): Promise<void> {
  await db.query('insert into organizations (id, name, plan) values ($1, $2, $3)', [id, name, plan])
}

export interface OrganizationRow extends Organization, PlanRow {
  sso_required: boolean
  created_at: Date
}

const ORGANIZATION = `select id, name, plan, plan_changed_at, previous_retention, sso_required, created_at
  from organizations where id = $1`

export async function findOrganization(db: Queryable, id: string): Promise<OrganizationRow | undefined> {
  const [row] = await db.query<OrganizationRow>(ORGANIZATION, [id])
  return row
}

/**
 * Holds the organization until the transaction ends, so that what is decided of its people (is this the last owner?) still
 * holds when it is done. New rows that refer to the organization need not wait.
 */
export async function lockOrganization(db: Queryable, id: string): Promise<OrganizationRow | undefined> {
  const [row] = await db.query<OrganizationRow>(`${ORGANIZATION} for no key update`, [id])
  return row
}

export async function renameOrganization(db: Queryable, id: string, name: string): Promise<void> {
  await db.query('update organizations set name = $2 where id = $1', [id, name])
}

export async function setSsoRequired(db: Queryable, id: string, required: boolean): Promise<void> {
  await db.query('update organizations set sso_required = $2 where id = $1', [id, required])
}

/** With all that it has but the heartbeats, which nobody can read any more: they go with their days. */
export async function deleteOrganization(db: Queryable, id: string): Promise<void> {
  await db.query('delete from organizations where id = $1', [id])
}

/** What the operator sees of an organization. */
export interface OrganizationSummary extends Organization {
  members: number
  suspended_at: Date | null
  created_at: Date
}

/** System-wide, oldest first. */
export function listOrganizations(db: Queryable): Promise<OrganizationSummary[]> {
  return db.query<OrganizationSummary>(
    `select o.id, o.name, o.plan, o.suspended_at, o.created_at,
       (select count(*) from memberships m where m.organization_id = o.id) as members
     from organizations o order by o.created_at, o.id`
  )
}

/** System-wide; null: no longer. Returns whether that is a change. */
export async function setSuspended(db: Queryable, id: string, at: Date | null): Promise<boolean> {
  const rows = await db.query(
    `update organizations set suspended_at = $2
     where id = $1 and (suspended_at is null) <> ($2::timestamptz is null) returning id`,
    [id, at]
  )
  return rows.length > 0
}

/** System-wide: a further organization of a person who belongs to others. */
export async function foundOrganization(
  db: Queryable,
  { id, name, plan }: Organization,
  founderId: string
): Promise<void> {
  await db.query('select found_organization($1, $2, $3, $4)', [id, name, plan, founderId])
}
