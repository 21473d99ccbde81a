import type { Resolution } from './contract/heartbeats.ts'

/** What history is kept in: heartbeats as they came, and rollups of them. */
export type Layer = Resolution

/** Days that each layer is kept and shown; null: for ever. State changes are kept as long as `1d`. */
export type Retention = Readonly<Record<Layer, number | null>>

/** What an organization may have; null: any number. */
export interface Limits {
  readonly monitors: number | null
  /** Agents and services together. */
  readonly agents: number | null
  readonly minIntervalSeconds: number
}

/** A plan. Only the operator changes that of an organization. */
export interface Plan {
  readonly retention: Retention
  readonly limits: Limits
}

/** Every plan, by its name in `organizations.plan`. */
export const PLANS = {
  free: {
    retention: { raw: 7, '5m': 30, '1h': 90, '1d': 400 },
    limits: { monitors: 50, agents: 10, minIntervalSeconds: 60 }
  },
  team: {
    retention: { raw: 30, '5m': 90, '1h': 400, '1d': 1095 },
    limits: { monitors: 500, agents: 100, minIntervalSeconds: 30 }
  },
  business: {
    retention: { raw: 90, '5m': 400, '1h': 730, '1d': 2555 },
    limits: { monitors: 10_000, agents: 1000, minIntervalSeconds: 10 }
  },
  'self-hosted': {
    retention: { raw: 30, '5m': 90, '1h': 400, '1d': null },
    limits: { monitors: null, agents: null, minIntervalSeconds: 10 }
  }
} as const satisfies Record<string, Plan>
export type PlanName = keyof typeof PLANS

const MS_PER_DAY = 86_400_000
/** So long after a change of plan nothing is deleted that the plan before would have kept. */
export const NOTICE_MS = 14 * MS_PER_DAY

/** The plan of that name; a name that this version does not know counts as the standard one. */
export function planOf(name: string): Plan {
  return PLANS[name as PlanName] ?? PLANS['self-hosted']
}

/** How long raw heartbeats of a plan are kept, in milliseconds. */
export function rawRetentionMs(name: string): number {
  return (planOf(name).retention.raw ?? Number.POSITIVE_INFINITY) * MS_PER_DAY
}

/** Nothing of this layer that is older (epoch ms) is shown; null: everything is. */
export function retentionFrom(planName: string, layer: Layer, now: number): number | null {
  const days = planOf(planName).retention[layer]
  return days === null ? null : now - days * MS_PER_DAY
}

/** The longer of two in every layer. */
export function longerRetention(a: Retention, b: Retention): Retention {
  const longer = (layer: Layer) => {
    const [one, other] = [a[layer], b[layer]]
    return one === null || other === null ? null : Math.max(one, other)
  }
  return { raw: longer('raw'), '5m': longer('5m'), '1h': longer('1h'), '1d': longer('1d') }
}

/** What an organization's row says of its plan. */
export interface PlanRow {
  plan: string
  plan_changed_at: Date | null
  previous_retention: Retention | null
}

/** What must not be deleted yet: that of the plan, and for 14 days after a change that of the plan before as well. */
export function keptRetention({ plan, plan_changed_at, previous_retention }: PlanRow, now: number): Retention {
  const { retention } = planOf(plan)
  if (plan_changed_at === null || previous_retention === null) return retention
  return now < plan_changed_at.getTime() + NOTICE_MS ? longerRetention(retention, previous_retention) : retention
}

/** When it is that less is kept than now, and what is kept until then; null: nothing is about to change. */
export function scheduledCut(row: PlanRow, now: number): { at: number; retention: Retention } | null {
  const retention = keptRetention(row, now)
  const layers = Object.keys(retention) as Layer[]
  const less = layers.some((layer) => retention[layer] !== planOf(row.plan).retention[layer])
  return less && row.plan_changed_at !== null ? { at: row.plan_changed_at.getTime() + NOTICE_MS, retention } : null
}

/** Older than this (epoch ms) may be deleted; null: nothing. */
export function cutoffOf(retention: Retention, layer: Layer, now: number): number | null {
  const days = retention[layer]
  return days === null ? null : now - days * MS_PER_DAY
}
