import { deleteOldDeliveries } from '../../shared/store/deliveries.ts'
import { deleteOldAlerts, endForgotten, settleAlerts, unmuteAlerts } from '../../shared/store/outbox-queue.ts'
import { remindOfSilent } from '../../shared/store/reminders.ts'
import { type DeliverDeps, Deliverer } from './deliver.ts'
import { fanOut } from './fan-out.ts'

const ROUND_MS = 500
/** What is muted, or waits for another monitor, is looked at this often. */
const REVIEW_MS = 2000
const CLEAN_MS = 3_600_000
/** The log of deliveries, and what was told. */
const KEPT_MS = 30 * 86_400_000
const CLEAN_AT_ONCE = 5000

async function clean({ db, clock }: DeliverDeps): Promise<void> {
  const before = new Date(clock() - KEPT_MS)
  while ((await deleteOldDeliveries(db, before, CLEAN_AT_ONCE)) === CLEAN_AT_ONCE);
  while ((await deleteOldAlerts(db, before, CLEAN_AT_ONCE)) === CLEAN_AT_ONCE);
}

async function review({ db, clock }: DeliverDeps): Promise<void> {
  const now = new Date(clock())
  await endForgotten(db, now)
  await unmuteAlerts(db, now)
  await settleAlerts(db, now)
}

/**
 * Tells people what the outbox holds, beside the ingest and never in its way: rows become deliveries, deliveries are sent.
 * Any number of workers do so at once.
 */
export function startAlerts(deps: DeliverDeps): { stop(): Promise<void> } {
  const deliverer = new Deliverer(deps)
  let stopped = false
  let away = false
  let reviewedAt = Number.NEGATIVE_INFINITY
  let cleanedAt = Number.NEGATIVE_INFINITY

  async function work(): Promise<void> {
    // Of this process, whatever clock the states go by.
    const now = performance.now()
    if (now - reviewedAt >= REVIEW_MS) {
      await review(deps)
      reviewedAt = now
    }
    while (!stopped && (await fanOut(deps.db, new Date(deps.clock()))) > 0);
    while (!stopped && (await deliverer.begin()) > 0);
    if (now - cleanedAt >= CLEAN_MS) {
      await remindOfSilent(deps.db, new Date(deps.clock()))
      await clean(deps)
      cleanedAt = now
    }
  }

  async function round(): Promise<void> {
    try {
      await work()
      away = false
    } catch (error) {
      if (!away) deps.log.warn({ err: error }, 'alerts could not be worked on; trying again')
      away = true
    }
  }

  let running: Promise<void> | null = null
  const timer = setInterval(() => {
    running ??= round().finally(() => {
      running = null
    })
  }, ROUND_MS)
  return {
    stop: async () => {
      stopped = true
      clearInterval(timer)
      await running
      await deliverer.stop()
    }
  }
}
