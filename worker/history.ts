import { type Database, isTransient } from '../shared/db.ts'
import type { Log } from '../shared/log.ts'
import { rawRetentionMs } from '../shared/plans.ts'
import { DeadLetter } from '../shared/queue.ts'
import { createHeartbeatDays, listPlansInUse } from '../shared/store/heartbeat-days.ts'

const MS_PER_DAY = 86_400_000
const DAYS_AHEAD = 2
/** No heartbeat of an honest queue is older; a job that says so is broken, and must not make tables. */
const OLDEST_DAYS = 400
/** Days are made long before they are needed, so that a worker that misses a few rounds does no harm. */
const ROUND_MS = 3_600_000
const AGAIN_MS = 10_000

/** Makes the days of these heartbeats. @throws DeadLetter when one lies where no heartbeat can be. */
export async function makeDays(db: Database, days: ReadonlySet<number>, now: number): Promise<void> {
  const today = Math.floor(now / MS_PER_DAY)
  for (const day of days) {
    if (day < today - OLDEST_DAYS || day > today + DAYS_AHEAD) {
      throw new DeadLetter(`a timestamp lies ${day - today} days from today, out of reach`)
    }
  }
  await createHeartbeatDays(db, days)
}

async function makeDaysAhead(db: Database, now: number): Promise<number> {
  const plans = await listPlansInUse(db)
  const longest = Math.max(rawRetentionMs('self-hosted'), ...plans.map(rawRetentionMs))
  const first = Math.floor((now - longest) / MS_PER_DAY)
  const last = Math.floor(now / MS_PER_DAY) + DAYS_AHEAD
  return createHeartbeatDays(
    db,
    Array.from({ length: last - first + 1 }, (_, i) => first + i)
  )
}

/**
 * Keeps the days of [now − longest raw retention in use, now + 2 days] made: at once, then every hour. A database that is
 * busy does not stop the start: a day that is missing meanwhile is made by who needs it.
 */
export async function startHistory(db: Database, log: Log, clock: () => number): Promise<{ stop(): void }> {
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  function next(afterMs: number): void {
    if (!stopped) timer = setTimeout(round, afterMs)
  }

  function failed(error: unknown): void {
    log.error({ err: error, againMs: AGAIN_MS }, 'days of history could not be made ahead')
    next(AGAIN_MS)
  }

  function round(): void {
    makeDaysAhead(db, clock()).then((made) => {
      if (made > 0) log.info({ made }, 'days of history were made ahead')
      next(ROUND_MS)
    }, failed)
  }

  try {
    await makeDaysAhead(db, clock())
    next(ROUND_MS)
  } catch (error) {
    if (!isTransient(error)) throw error
    failed(error)
  }
  return {
    stop: () => {
      stopped = true
      clearTimeout(timer)
    }
  }
}
