import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisClient } from './redis.ts'

/**
 * The roll call of running processes. Each renews `ready:<kind>:<id>` twice a second, and each that takes heartbeats in also
 * `ingest:<id>`, whose value is the receive time (epoch ms) of its oldest heartbeat not yet queued, or now. Both end 5 s
 * after the last renewal. A set beside them names the ids, so that nobody has to scan Redis, whose keyspace is mostly jobs.
 * `ingest-since` lives as long as any of them takes heartbeats in, and tells since when that was so without a break.
 */
export type ProcessKind = 'gateway' | 'api' | 'worker'

/** Silence can be told only up to the last renewal, so this is part of how late it is noticed. */
const RENEW_MS = 500
const TTL_SECONDS = 5
/** Longest time that stopping waits for Redis: the keys end by themselves. */
const WITHDRAW_MS = 500

interface Announcement {
  client: RedisClient
  prefix: string
  kind: ProcessKind
  id: string
  /** Receive time of the oldest heartbeat not yet queued, or null. Absent: this process takes none in. */
  oldestUnqueued?: () => number | null
  clock: () => number
}

/** Sent together, so that Redis has one fsync for all of it. */
function renew(key: string, index: string, id: string, value: number, client: RedisClient): Promise<unknown>[] {
  return [client.set(key, String(value), 'EX', TTL_SECONDS), client.sadd(index, id)]
}

/** The first to come after a break sets it, everybody keeps it alive. */
function renewSince(client: RedisClient, prefix: string, now: number): Promise<unknown>[] {
  const key = `${prefix}:ingest-since`
  return [client.set(key, String(now), 'EX', TTL_SECONDS, 'NX'), client.expire(key, TTL_SECONDS)]
}

/**
 * Announces this process until stopped; a beat that fails is simply missed, which is what it says. `stop` takes half a second
 * at most.
 */
export function announce({ client, prefix, kind, id, oldestUnqueued, clock }: Announcement): { stop(): Promise<void> } {
  const readyKey = `${prefix}:ready:${kind}:${id}`
  const ingestKey = `${prefix}:ingest:${id}`
  let failed = false
  const beat = async () => {
    const now = clock()
    const oldest = oldestUnqueued?.()
    try {
      const commands = renew(readyKey, `${prefix}:ready:${kind}`, id, now, client)
      if (oldest !== undefined) {
        commands.push(...renew(ingestKey, `${prefix}:ingest`, id, oldest ?? now, client))
        commands.push(...renewSince(client, prefix, now))
      }
      await Promise.all(commands)
      failed = false
    } catch {
      // Redis is away: the keys run out by themselves, and readiness says so.
      failed = true
    }
  }
  let beating: Promise<void> | null = null
  const nextBeat = () => {
    // On a connection that waits for Redis, beats would gather for as long as it is away.
    beating ??= beat().finally(() => {
      beating = null
    })
  }
  nextBeat()
  const timer = setInterval(nextBeat, RENEW_MS)
  const withdraw = async () => {
    await beating
    if (failed) return
    try {
      await client.del(readyKey)
      // The ingest stamp goes last and by itself: deleting it early would let the watermark pass heartbeats in flight.
      if (oldestUnqueued) await client.del(ingestKey)
    } catch {
      // As above.
      failed = true
    }
  }
  return {
    stop: async () => {
      clearInterval(timer)
      const waiting = new AbortController()
      const late = sleep(WITHDRAW_MS, undefined, { signal: waiting.signal }).catch(() => undefined)
      await Promise.race([withdraw(), late])
      waiting.abort()
    }
  }
}

async function readAll(client: RedisClient, index: string, keyOf: (id: string) => string): Promise<number[]> {
  const ids = await client.smembers(index)
  const values: number[] = []
  for (const id of ids) {
    const value = await client.get(keyOf(id))
    if (value === null) await client.srem(index, id)
    else values.push(Number(value))
  }
  return values
}

/** How many processes of this kind are up. */
export async function countReady(client: RedisClient, prefix: string, kind: ProcessKind): Promise<number> {
  return (await readAll(client, `${prefix}:ready:${kind}`, (id) => `${prefix}:ready:${kind}:${id}`)).length
}

/** What the doors of ingest say of themselves. Times are epoch ms. */
export interface IngestCall {
  /** Of every process that takes heartbeats in; empty: none can get in. */
  stamps: number[]
  /** Since when one of them was always there; null when that is not known. */
  since: number | null
}

export async function readIngest(client: RedisClient, prefix: string): Promise<IngestCall> {
  const stamps = await readAll(client, `${prefix}:ingest`, (id) => `${prefix}:ingest:${id}`)
  const since = await client.get(`${prefix}:ingest-since`)
  return { stamps, since: since === null ? null : Number(since) }
}
