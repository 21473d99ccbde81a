import type { Queryable, Transaction } from '../db.ts'
import { keptRetention, longerRetention, type PlanRow, planOf } from '../plans.ts'

const PLAN = 'plan, plan_changed_at, previous_retention'

/**
 * System-wide: gives the organization another plan. Reads follow it at once; for 14 days nothing is deleted that was to be kept
 * until now. Returns the name of the plan before, undefined when there is no such organization. Who remembers plans (the
 * ingest doors) must be told: publish `organization_changed` after the commit.
 */
export async function replacePlan(
  tx: Transaction,
  organizationId: string,
  plan: string,
  now: number
): Promise<string | undefined> {
  const [before] = await tx.query<PlanRow>(`select ${PLAN} from organizations where id = $1 for no key update`, [
    organizationId
  ])
  if (before === undefined || before.plan === plan) return before?.plan
  // A second change within the 14 days must not cut short what the first one promised.
  const kept = longerRetention(planOf(before.plan).retention, keptRetention(before, now))
  await tx.query('update organizations set plan = $2, plan_changed_at = $3, previous_retention = $4 where id = $1', [
    organizationId,
    plan,
    new Date(now),
    JSON.stringify(kept)
  ])
  return before.plan
}

/** System-wide: every combination of plan and promise that organizations have. */
export function listPlansInUse(db: Queryable): Promise<PlanRow[]> {
  return db.query<PlanRow>(`select distinct on (plan, plan_changed_at, previous_retention) ${PLAN} from organizations`)
}
