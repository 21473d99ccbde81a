import type { PRESENCES } from './contract/agents.ts'
import type { KeyHolder } from './identity/api-key.ts'
import type { RedisClient } from './redis.ts'

/**
 * Which agents and services have a socket, and when they were last heard. Each gateway keeps a hash of its own in Redis,
 * `presence:<gateway>`, that ends with it: agent id → `<openedAt>:<heardAt>` (epoch ms). A set beside them names the gateways.
 */
export interface AgentPresence {
  /** When its socket opened; of several the oldest. */
  openedAt: number
  /** When a frame or a pong last came. */
  heardAt: number
}

export type Presence = (typeof PRESENCES)[number]

/** How long an agent may be silent. */
export const ONLINE_MS = 60_000
const STALE_MS = 120_000
/** Nobody pings a service, and its calls are noted to the minute: who calls every minute is there all the time. */
const SERVICE_MS = 180_000

/** A gateway that is killed takes its sockets with it. */
export const PRESENCE_TTL_SECONDS = 5
/** Ids asked for in one command. */
const ASK = 1000

export function presenceIndex(prefix: string): string {
  return `${prefix}:presence`
}

export function presenceKey(prefix: string, gatewayId: string): string {
  return `${prefix}:presence:${gatewayId}`
}

export function writePresence({ openedAt, heardAt }: AgentPresence): string {
  return `${Math.round(openedAt)}:${Math.round(heardAt)}`
}

/** What the table says of an agent. */
interface Noted {
  kind: KeyHolder
  last_seen_at: Date | null
  has_key: boolean
}

/** Gateways tell at once in Redis whom they hear, and about every 30 s in the table. Epoch ms; null: never. */
export function lastSeenOf(
  { last_seen_at }: Pick<Noted, 'last_seen_at'>,
  heard: AgentPresence | undefined
): number | null {
  const noted = last_seen_at?.getTime() ?? null
  return heard === undefined ? noted : Math.max(noted ?? 0, heard.heardAt)
}

/** `heard`: what gateways say of it. */
export function presenceOf(noted: Noted, heard: AgentPresence | undefined, now: number): Presence {
  const seenAt = lastSeenOf(noted, heard)
  if (!noted.has_key) return 'revoked'
  if (seenAt === null) return 'never_connected'
  const silentMs = now - seenAt
  if (silentMs <= (noted.kind === 'service' ? SERVICE_MS : ONLINE_MS)) return 'online'
  return silentMs <= STALE_MS ? 'stale' : 'offline'
}

function merge(known: AgentPresence | undefined, text: string): AgentPresence {
  const [openedAt = 0, heardAt = 0] = text.split(':').map(Number)
  if (known === undefined) return { openedAt, heardAt }
  return { openedAt: Math.min(known.openedAt, openedAt), heardAt: Math.max(known.heardAt, heardAt) }
}

/** Of these agents those that have a socket. */
export async function readPresence(
  client: RedisClient,
  prefix: string,
  agentIds: readonly string[]
): Promise<Map<string, AgentPresence>> {
  const found = new Map<string, AgentPresence>()
  if (agentIds.length === 0) return found
  for (const gatewayId of await client.smembers(presenceIndex(prefix))) {
    const key = presenceKey(prefix, gatewayId)
    if ((await client.exists(key)) === 0) {
      await client.srem(presenceIndex(prefix), gatewayId)
      continue
    }
    for (let start = 0; start < agentIds.length; start += ASK) {
      const ids = agentIds.slice(start, start + ASK)
      const texts = await client.hmget(key, ...ids)
      texts.forEach((text, i) => {
        const id = ids[i] as string
        if (text !== null) found.set(id, merge(found.get(id), text))
      })
    }
  }
  return found
}
