import { type Database, isTransient } from '../shared/db.ts'
import type { Log } from '../shared/log.ts'
import { DeadLetter } from '../shared/queue.ts'
import { createHeartbeatDays } from '../shared/store/heartbeat-days.ts'
import { deleteOldRows, dropDays, longestRawDays } from './retention.ts'

const MS_PER_DAY = 86_400_000
const DAYS_AHEAD = 2
/** No heartbeat of an honest queue is older; a job that says so is broken, and must not make tables. */
const OLDEST_DAYS = 400
/** Days are made long before they are needed, so that a worker that misses a few rounds does no harm. */
const ROUND_MS = 3_600_000
/** The start makes days and no more; dropping has time. */
const FIRST_ROUND_MS = 60_000
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
  const longest = Math.min((await longestRawDays(db, now)) ?? OLDEST_DAYS, OLDEST_DAYS)
  const today = Math.floor(now / MS_PER_DAY)
  return createHeartbeatDays(
    db,
    Array.from({ length: longest + DAYS_AHEAD + 1 }, (_, i) => today - longest + i)
  )
}

/**
 * Keeps the days of [now − longest raw retention in use, now + 2 days] made: at once, then every hour; and drops and deletes
 * what no plan keeps. A database that is busy does not stop the start: a day that is missing meanwhile is made by who needs
 * it.
 */
export async function startHistory(db: Database, log: Log, clock: () => number): Promise<{ stop(): Promise<void> }> {
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let running = Promise.resolve()

  function next(afterMs: number): void {
    if (!stopped) timer = setTimeout(round, afterMs)
  }

  function failed(error: unknown): void {
    log.error({ err: error, againMs: AGAIN_MS }, 'days of history could not be made or dropped')
    next(AGAIN_MS)
  }

  async function keep(): Promise<void> {
    const made = await makeDaysAhead(db, clock())
    if (made > 0) log.info({ made }, 'days of history were made ahead')
    if (stopped) return
    const dropped = await dropDays(db, clock())
    const deleted = await deleteOldRows(db, clock(), () => !stopped)
    if (dropped + deleted > 0) log.info({ dropped, deleted }, 'history beyond every plan was dropped')
    next(ROUND_MS)
  }

  function round(): void {
    running = keep().catch(failed)
  }

  try {
    await makeDaysAhead(db, clock())
    next(FIRST_ROUND_MS)
  } catch (error) {
    if (!isTransient(error)) throw error
    failed(error)
  }
  return {
    stop: () => {
      stopped = true
      clearTimeout(timer)
      return running
    }
  }
}
