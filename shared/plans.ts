/** A plan: what an organization may keep. Only the operator changes it. */
export interface Plan {
  /** Days that raw heartbeats are kept and shown. */
  readonly rawDays: number
}

/** Every plan, by its name in `organizations.plan`. */
export const PLANS = {
  free: { rawDays: 7 },
  team: { rawDays: 30 },
  business: { rawDays: 90 },
  'self-hosted': { rawDays: 30 }
} as const satisfies Record<string, Plan>
export type PlanName = keyof typeof PLANS

const MS_PER_DAY = 86_400_000

/** The plan of that name; a name that this version does not know keeps as long as the standard one. */
export function planOf(name: string): Plan {
  return PLANS[name as PlanName] ?? PLANS['self-hosted']
}

/** How long raw heartbeats of a plan are kept, in milliseconds. */
export function rawRetentionMs(name: string): number {
  return planOf(name).rawDays * MS_PER_DAY
}
