import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { type Limits, planOf } from '../../shared/plans.ts'
import { countOf } from '../../shared/store/counts.ts'
import { lockOrganization } from '../../shared/store/organizations.ts'

function reached(plan: string, limit: keyof Limits, maximum: number, allowed: string): AppError {
  return new AppError('limit_reached', {
    detail: `The plan "${plan}" allows ${allowed}. Only the operator of this installation can change the plan.`,
    extra: { limit, maximum }
  })
}

/**
 * To be called in the transaction that makes one more: of two at the same time the second waits, and counts the first.
 * @throws AppError limit_reached
 */
export async function requireRoom(
  tx: Queryable,
  organizationId: string,
  plan: string,
  limit: 'monitors' | 'agents'
): Promise<void> {
  // The principal's own word is enough to know that nothing is limited.
  if (planOf(plan).limits[limit] === null) return
  const organization = await lockOrganization(tx, organizationId)
  if (organization === undefined) throw new AppError('not_found')
  const maximum = planOf(organization.plan).limits[limit]
  if (maximum === null || (await countOf(tx, organizationId, limit)) < maximum) return
  const what = limit === 'agents' ? 'agents and services' : 'monitors'
  throw reached(organization.plan, limit, maximum, `${maximum} ${what}; delete one to make room`)
}

/** One that a plan before this allowed may stay as it was. @throws AppError limit_reached */
export function requireInterval(plan: string, intervalSeconds: number, before: number | null = null): void {
  const { minIntervalSeconds } = planOf(plan).limits
  if (intervalSeconds >= minIntervalSeconds || intervalSeconds === before) return
  throw reached(plan, 'minIntervalSeconds', minIntervalSeconds, `intervals of ${minIntervalSeconds} s and more`)
}
