import { formatTimestamp } from './protocol/timestamp.ts'
import type { RedisClient } from './redis.ts'
import type { NotedTransition } from './store/outbox.ts'

/** What people who watch are told as it happens; the names are those of the server-sent events. */
export type LiveEvent =
  | { readonly event: 'heartbeat'; readonly data: { readonly monitorId: string } & Record<string, unknown> }
  | { readonly event: 'state' | 'presence' | 'maintenance' | 'resync'; readonly data: Record<string, unknown> }

/** Events that were told together, with their place in the stream: `<ms>-<n>` of Redis. */
export interface LiveEntry {
  readonly id: string
  readonly events: LiveEvent[]
}

/** Who was away for so long at most misses nothing. */
export const LIVE_KEPT_MS = 5 * 60_000
/** So long after the last listener an organization's events go on into its stream, and stay there, for who comes back. */
export const LISTENED_MS = LIVE_KEPT_MS + 60_000
/** Entries of one read. */
const AT_ONCE = 200

function streamKey(prefix: string, organizationId: string): string {
  return `${prefix}:live:${organizationId}`
}

/** Who is listened to, and until when: members are `<organization>` and `<organization> <monitor>`. */
function listenedKey(prefix: string): string {
  return `${prefix}:live-listened`
}

/** A change of state as an event. */
export function stateEvent(
  monitorId: string,
  { from, to, at, reason }: Pick<NotedTransition, 'from' | 'to' | 'at' | 'reason'>
): LiveEvent {
  return { event: 'state', data: { monitorId, from, to, at: formatTimestamp(at.getTime()), reason } }
}

/** Events of one organization that belong together, as one entry. */
export async function appendLive(
  client: RedisClient,
  prefix: string,
  organizationId: string,
  events: readonly LiveEvent[],
  now: number
): Promise<void> {
  const key = streamKey(prefix, organizationId)
  await client.xadd(key, 'MINID', '~', String(now - LISTENED_MS), '*', 'events', JSON.stringify(events))
  await client.pexpire(key, LISTENED_MS)
}

/** What came after this place; with `inclusive` that entry itself too. */
export async function readLive(
  client: RedisClient,
  prefix: string,
  organizationId: string,
  { after, inclusive = false }: { after: string; inclusive?: boolean }
): Promise<LiveEntry[]> {
  const from = inclusive ? after : `(${after}`
  const rows = await client.xrange(streamKey(prefix, organizationId), from, '+', 'COUNT', AT_ONCE)
  // Written by `appendLive` alone.
  return rows.map(([id, fields]) => ({ id, events: JSON.parse(fields[1] ?? '[]') as LiveEvent[] }))
}

/** The place of the newest entry, or null when there is none. */
export async function lastLiveId(client: RedisClient, prefix: string, organizationId: string): Promise<string | null> {
  const [last] = await client.xrevrange(streamKey(prefix, organizationId), '+', '-', 'COUNT', 1)
  return last?.[0] ?? null
}

/** Is the organization listened to? */
export async function isListened(
  client: RedisClient,
  prefix: string,
  organizationId: string,
  now: number
): Promise<boolean> {
  return Number(await client.zscore(listenedKey(prefix), organizationId)) > now
}

/** Has the organization's events told from now on; returns whether they were before. */
export async function listenLive(
  client: RedisClient,
  prefix: string,
  organizationId: string,
  monitorId: string | null,
  now: number
): Promise<boolean> {
  const key = listenedKey(prefix)
  const wasListened = await isListened(client, prefix, organizationId, now)
  const names = monitorId === null ? [organizationId] : [organizationId, `${organizationId} ${monitorId}`]
  for (const name of names) await client.zadd(key, now + LISTENED_MS, name)
  return wasListened
}

/** The organizations that are listened to, each with the monitors that somebody wants in full. */
export async function readListened(
  client: RedisClient,
  prefix: string,
  now: number
): Promise<Map<string, Set<string>>> {
  const key = listenedKey(prefix)
  const listened = new Map<string, Set<string>>()
  for (const name of await client.zrangebyscore(key, `(${now}`, '+inf')) {
    const [organizationId = '', monitorId] = name.split(' ')
    const monitors = listened.get(organizationId) ?? new Set()
    if (monitorId !== undefined) monitors.add(monitorId)
    listened.set(organizationId, monitors)
  }
  await client.zremrangebyscore(key, '-inf', now)
  return listened
}
