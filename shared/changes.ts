import type { Log } from './log.ts'
import type { RedisClient, RedisConnection } from './redis.ts'

/**
 * What processes tell each other so that caches and sockets follow within a second. Published after the commit and before
 * the answer. Redis forgets a message nobody hears, so a broken subscription ends in `resync`: doubt everything cached.
 */
export type Change =
  /** These keys are revoked: close their sockets, forget them. */
  | { type: 'keys_revoked'; organizationId: string; agentId: string; keyIds: string[] }
  /** The monitor set, scopes or name of one agent or service changed, or it was deleted. */
  | { type: 'agent_changed'; organizationId: string; agentId: string }
  /** Monitors of the organization were created, changed or deleted, or the organization itself was; `deleted`: it is gone. */
  | { type: 'organization_changed'; organizationId: string; deleted?: true }
  /** A socket of this agent opened; older ones elsewhere give way. `connection` is a UUIDv7, so newer ones sort later. */
  | { type: 'agent_connected'; organizationId: string; agentId: string; connection: string }
  /** The subscription was broken for a while; anything may have changed. Never published. */
  | { type: 'resync' }

function channelOf(prefix: string): string {
  return `${prefix}:changes`
}

/** Tells every process. Rejects when Redis is away: the caller then knows that caches may be stale up to their TTL. */
export async function publishChange(client: RedisClient, prefix: string, change: Exclude<Change, { type: 'resync' }>) {
  await client.publish(channelOf(prefix), JSON.stringify(change))
}

export interface Changes {
  /** Returns what takes the listener off again. */
  listen(listener: (change: Change) => void): () => void
  stop(): Promise<void>
}

interface Options {
  /** A connection of its own: a subscribed one can do nothing else. Opened with `whenAway: 'wait'`. */
  subscriber: RedisConnection
  prefix: string
  log: Log
}

export async function subscribeChanges({ subscriber, prefix, log }: Options): Promise<Changes> {
  const listeners = new Set<(change: Change) => void>()
  const tell = (change: Change) => {
    for (const listener of listeners) {
      try {
        listener(change)
      } catch (error) {
        log.error({ err: error, change: change.type }, 'a listener failed')
      }
    }
  }
  subscriber.client.on('message', (_channel: string, text: string) => {
    try {
      tell(JSON.parse(text) as Change)
    } catch (error) {
      log.error({ err: error }, 'an unreadable change was published')
    }
  })
  await subscriber.client.subscribe(channelOf(prefix))
  // Fires on re-connection only: the first `ready` was before this line. What is published before the subscription stands
  // again is not heard, so doubt begins after it.
  subscriber.client.on('ready', () => {
    subscriber.client.subscribe(channelOf(prefix)).then(
      () => tell({ type: 'resync' }),
      (error) => log.warn({ err: error }, 'changes could not be subscribed to again')
    )
  })
  return {
    listen: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop: async () => {
      listeners.clear()
    }
  }
}
