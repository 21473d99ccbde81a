import type { Database } from '../../shared/db.ts'
import type { Log } from '../../shared/log.ts'
import type { Metrics } from '../../shared/metrics.ts'
import type { Secrets } from '../../shared/secrets.ts'
import { channelContext } from '../../shared/store/channels.ts'
import { type ClaimedDelivery, claimDeliveries, returnDelivery, settleDelivery } from '../../shared/store/deliveries.ts'
import type { AddressGuard } from '../../shared/webhooks/address-guard.ts'
import { type Outcome, sendWebhook } from '../../shared/webhooks/send.ts'

export interface DeliverDeps {
  db: Database
  secrets: Secrets
  guard: AddressGuard
  metrics: Metrics
  log: Log
  /** Epoch ms. */
  clock: () => number
  random: () => number
}

/** Messages under way in one process; one of each channel, so that a channel that hangs delays itself alone. */
const UNDER_WAY = 50
/** Longer than a try takes: a process that was killed meanwhile is not waited for. */
const LEASE_MS = 30_000
/** Waits after the first, second … failure; the last one again and again. */
const WAITS_MS = [5, 30, 120, 600, 1800, 3600, 7200].map((seconds) => seconds * 1000)
/** So long after its making a message is given up. */
const GIVE_UP_MS = 24 * 3_600_000

/** When to try again, or null: it is given up. Spread by a fifth, so that those that failed together come apart. */
export function nextTry({
  attempts,
  createdAt,
  now,
  random
}: {
  attempts: number
  createdAt: number
  now: number
  random: number
}): number | null {
  const wait = WAITS_MS[Math.min(attempts, WAITS_MS.length) - 1] ?? 0
  const at = now + wait * (0.9 + random * 0.2)
  return at - createdAt > GIVE_UP_MS ? null : at
}

/** Sends what waits; each try is written down. */
export class Deliverer {
  readonly #deps: DeliverDeps
  readonly #results
  readonly #busy = new Map<string, Promise<void>>()
  readonly #stopping = new AbortController()

  constructor(deps: DeliverDeps) {
    this.#deps = deps
    this.#results = deps.metrics.counter('pulsegate_worker_deliveries_total', 'outcome')
  }

  /** Begins whatever is due; resolves before it has ended, to how many were begun. */
  async begin(): Promise<number> {
    const free = UNDER_WAY - this.#busy.size
    if (free <= 0 || this.#stopping.signal.aborted) return 0
    const now = this.#deps.clock()
    const claimed = await claimDeliveries(this.#deps.db, {
      now: new Date(now),
      leaseUntil: new Date(now + LEASE_MS),
      busy: [...this.#busy.keys()],
      limit: free
    })
    for (const delivery of claimed) {
      const { channel_id: channelId } = delivery
      const running = this.#run(delivery).finally(() => this.#busy.delete(channelId))
      this.#busy.set(channelId, running)
    }
    return claimed.length
  }

  /** Cuts off what is under way and puts it back. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#busy.values())
  }

  async #run(delivery: ClaimedDelivery): Promise<void> {
    const { log } = this.#deps
    try {
      const outcome = await this.#send(delivery)
      await this.#settle(delivery, outcome)
    } catch (error) {
      // The lease runs out, and it is tried again.
      log.warn({ err: error, deliveryId: delivery.id }, 'the outcome of a delivery could not be written')
    }
  }

  #send(delivery: ClaimedDelivery): Promise<Outcome> {
    const { secrets, guard, clock } = this.#deps
    const { id, url, body, channel_id: channelId } = delivery
    let secret: string
    try {
      secret = secrets.open(delivery.secret_sealed, channelContext(channelId))
    } catch {
      const error = 'The secret of the channel cannot be read; SECRETS_KEY is not what it was.'
      return Promise.resolve({ delivered: false, statusCode: null, error, response: null })
    }
    return sendWebhook({ id, url, secret, body }, guard, clock(), this.#stopping.signal)
  }

  async #settle({ id, attempts, created_at: createdAt }: ClaimedDelivery, outcome: Outcome): Promise<void> {
    const { db, clock, random } = this.#deps
    const now = clock()
    if (!outcome.delivered && this.#stopping.signal.aborted) return returnDelivery(db, id, new Date(now))
    const again = outcome.delivered
      ? null
      : nextTry({ attempts, createdAt: createdAt.getTime(), now, random: random() })
    await settleDelivery(db, id, outcome, again === null ? null : new Date(again))
    const gaveUp = !outcome.delivered && again === null
    this.#results.inc({ outcome: outcome.delivered ? 'delivered' : gaveUp ? 'given_up' : 'failed' })
  }
}
