import { isDeepStrictEqual } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import { normalizeEmail } from '../../api/sign-in/email.ts'
import type { Queryable } from '../../shared/db.ts'
import { longerRetention, NOTICE_MS, planOf } from '../../shared/plans.ts'
import { insertMembership } from '../../shared/store/memberships.ts'
import { replacePlan } from '../../shared/store/organization-plans.ts'
import {
  insertOrganization,
  listOrganizations,
  lockOrganization,
  type OrganizationRow,
  setSuspended
} from '../../shared/store/organizations.ts'
import { findUserByEmail, insertUser } from '../../shared/store/users.ts'
import { makePassword } from './new-password.ts'
import { announce, auditOperator, type Operator, Refusal, tableLines, timeOf } from './operator.ts'

interface NewOrganization {
  name: string
  ownerEmail: string
  ownerName: string | undefined
}

/** A person who has an account already owns it as well; anybody else gets an account and a password. */
export async function createOrganization(operator: Operator, wanted: NewOrganization): Promise<void> {
  const { db, defaultPlan: plan, say } = operator
  const email = normalizeEmail(wanted.ownerEmail)
  const known = await findUserByEmail(db, email)
  const made = known === undefined ? await makePassword() : undefined
  const organization = { id: uuidv7(), name: wanted.name, plan }
  const userId = known?.id ?? uuidv7()
  await db.transaction(async (tx) => {
    await insertOrganization(tx, organization)
    if (made !== undefined) {
      const name = wanted.ownerName ?? email.slice(0, email.indexOf('@'))
      await insertUser(tx, { id: userId, name, email, passwordHash: made.passwordHash })
    }
    await insertMembership(tx, { organizationId: organization.id, userId, role: 'owner' })
    await auditOperator(tx, {
      organizationId: organization.id,
      action: 'organization.created',
      target: { kind: 'organization', id: organization.id, name: organization.name },
      details: { owner: email, plan }
    })
  })
  say(`organization  ${organization.id}`)
  say(`owner         ${email}`)
  say(
    made === undefined ? 'The owner had an account already and signs in as before.' : `password      ${made.password}`
  )
  if (made !== undefined) say('The password is shown only now; the owner should change it after the first sign-in.')
}

export async function showOrganizations({ db, say }: Operator): Promise<void> {
  const rows = await listOrganizations(db)
  const lines = rows.map((row) => [
    row.id,
    row.plan,
    row.suspended_at === null ? 'active' : 'suspended',
    row.members === 1 ? '1 member' : `${row.members} members`,
    timeOf(row.created_at),
    row.name
  ])
  for (const line of tableLines(lines)) say(line)
  say(rows.length === 1 ? '1 organization.' : `${rows.length} organizations.`)
}

/** @throws Refusal when there is none. */
async function lock(tx: Queryable, id: string): Promise<OrganizationRow> {
  const row = await lockOrganization(tx, id)
  if (row === undefined) throw new Refusal(`There is no organization ${id}.`)
  return row
}

/** One change of the operator, noted with it. */
function auditChange(tx: Queryable, { id, name }: OrganizationRow, details: Record<string, unknown>): Promise<void> {
  const target = { kind: 'organization', id, name }
  return auditOperator(tx, { organizationId: id, action: 'organization.changed', target, details })
}

/** Does the new plan keep less of anything? */
function shortens(before: string, plan: string): boolean {
  const [kept, now] = [planOf(before).retention, planOf(plan).retention]
  return !isDeepStrictEqual(longerRetention(kept, now), now)
}

export async function changePlan(operator: Operator, id: string, plan: string): Promise<void> {
  const before = await operator.db.transaction(async (tx) => {
    const row = await lock(tx, id)
    if (row.plan === plan) return row
    await replacePlan(tx, id, plan, operator.clock())
    await auditChange(tx, row, { plan: { from: row.plan, to: plan } })
    return row
  })
  // Told again when nothing changed: the message of that time may have been lost.
  await announce(operator, { type: 'organization_changed', organizationId: id })
  operator.say(
    before.plan === plan
      ? `${before.name} has the plan ${plan} already.`
      : `${before.name} has the plan ${plan} now, before ${before.plan}.`
  )
  if (shortens(before.plan, plan)) {
    const until = timeOf(new Date(operator.clock() + NOTICE_MS))
    operator.warn(
      `It shows less history from now on. What ${before.plan} keeps is deleted from ${until} on, not before.`
    )
  }
}

/** A suspended organization loses its sockets within a second, and nobody of it can sign in or report. */
export async function suspend(operator: Operator, id: string, suspended: boolean): Promise<void> {
  const { row, changed } = await operator.db.transaction(async (tx) => {
    const row = await lock(tx, id)
    const changed = await setSuspended(tx, id, suspended ? new Date(operator.clock()) : null)
    if (changed) await auditChange(tx, row, { suspended })
    return { row, changed }
  })
  await announce(operator, { type: 'organization_changed', organizationId: id })
  const state = suspended ? 'suspended' : 'active'
  operator.say(changed ? `${row.name} is ${state} now.` : `${row.name} is ${state} already.`)
}
