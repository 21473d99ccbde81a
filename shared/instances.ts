import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisClient } from './redis.ts'

/**
 * The roll call of running processes. Each renews `ready:<kind>:<id>` every second, and each that takes heartbeats in also
 * `ingest:<id>`, whose value is the receive time (epoch ms) of its oldest heartbeat not yet queued, or now. Both end 5 s
 * after the last renewal. A set beside them names the ids, so that nobody has to scan Redis, whose keyspace is mostly jobs.
 */
export type ProcessKind = 'gateway' | 'api' | 'worker'

const RENEW_MS = 1000
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

async function renew(key: string, index: string, id: string, value: number, client: RedisClient): Promise<void> {
  await client.set(key, String(value), 'EX', TTL_SECONDS)
  await client.sadd(index, id)
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
      await renew(readyKey, `${prefix}:ready:${kind}`, id, now, client)
      if (oldest !== undefined) await renew(ingestKey, `${prefix}:ingest`, id, oldest ?? now, client)
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
