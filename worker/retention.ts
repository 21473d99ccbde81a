import type { Database } from '../shared/db.ts'
import { cutoffOf, keptRetention, PLANS } from '../shared/plans.ts'
import { dropHeartbeatDays } from '../shared/store/heartbeat-days.ts'
import { listPlansInUse } from '../shared/store/organization-plans.ts'
import {
  type Cutoff,
  claimRetention,
  deleteOlder,
  type Kept,
  type KeptMonitor,
  listKeptMonitors
} from '../shared/store/retention.ts'
import { readRollupState } from '../shared/store/rollup-state.ts'
import { ROLLUPS } from '../shared/store/rollups.ts'

const MS_PER_DAY = 86_400_000
/** Monitors of one statement, whose rows of a day are some ten thousand. */
const MONITORS = 200
const EVERY_MS = MS_PER_DAY

/** How long raw heartbeats of anybody are to be kept, in days; null: for ever. */
export async function longestRawDays(db: Database, now: number): Promise<number | null> {
  const plans = await listPlansInUse(db)
  const days = plans.map((plan) => keptRetention(plan, now).raw)
  if (days.length === 0) return PLANS['self-hosted'].retention.raw
  return days.some((one) => one === null) ? null : Math.max(...days.map(Number))
}

/**
 * Drops the days that no plan keeps any more, oldest first, and only those whose rollups are made. Returns how many.
 */
export async function dropDays(db: Database, now: number): Promise<number> {
  const longest = (await longestRawDays(db, now)) ?? Number.POSITIVE_INFINITY
  const { rolledUntil } = await readRollupState(db)
  return dropHeartbeatDays(db, Math.floor(Math.min(now - longest * MS_PER_DAY, rolledUntil) / MS_PER_DAY))
}

/** What of these monitors may go; those of which everything is kept are left out. */
function cutoffsOf(monitors: readonly KeptMonitor[], kept: Kept, now: number): Cutoff[] {
  const layer = kept === 'transitions' ? '1d' : kept
  return monitors.flatMap(({ monitor_key: monitorKey, plan, ...rest }) => {
    // What is left of a monitor that is gone nobody can read.
    const before =
      plan === null ? Number.POSITIVE_INFINITY : cutoffOf(keptRetention({ plan, ...rest }, now), layer, now)
    return before === null ? [] : [{ monitorKey, before }]
  })
}

async function deleteKind(db: Database, kept: Kept, now: number, goOn: () => boolean): Promise<number> {
  let deleted = 0
  for (let after = 0; goOn(); ) {
    const monitors = await listKeptMonitors(db, kept, after, MONITORS)
    const last = monitors.at(-1)
    if (last === undefined) break
    after = last.monitor_key
    const cutoffs = cutoffsOf(monitors, kept, now)
    if (cutoffs.length > 0) deleted += await deleteOlder(db, kept, cutoffs)
  }
  return deleted
}

/** Deletes rollups and state changes that the plans keep no longer, once a day in all workers together. */
export async function deleteOldRows(db: Database, now: number, goOn: () => boolean = () => true): Promise<number> {
  if (!(await claimRetention(db, now, EVERY_MS))) return 0
  let deleted = 0
  for (const kept of [...ROLLUPS, 'transitions'] as const) deleted += await deleteKind(db, kept, now, goOn)
  return deleted
}
