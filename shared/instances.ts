import type { RedisClient } from './redis.ts'

/**
 * The roll call of running processes. Each renews `ready:<kind>:<id>` every second, and each that takes heartbeats in also
 * `ingest:<id>`, whose value is the receive time (epoch ms) of its oldest heartbeat not yet queued, or now. Both end 5 s
 * after the last renewal. A set beside them names the ids, so that nobody has to scan Redis, whose keyspace is mostly jobs.
 */
export type ProcessKind = 'gateway' | 'api' | 'worker'

const RENEW_MS = 1000
const TTL_SECONDS = 5

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

/** Announces this process until stopped; a beat that fails is simply missed, which is what it says. */
export function announce({ client, prefix, kind, id, oldestUnqueued, clock }: Announcement): { stop(): Promise<void> } {
  const readyKey = `${prefix}:ready:${kind}:${id}`
  const ingestKey = `${prefix}:ingest:${id}`
  let failed = 0
  const beat = async () => {
    const now = clock()
    const oldest = oldestUnqueued?.()
    try {
      await renew(readyKey, `${prefix}:ready:${kind}`, id, now, client)
      if (oldest !== undefined) await renew(ingestKey, `${prefix}:ingest`, id, oldest ?? now, client)
      failed = 0
    } catch {
      // Redis is away: the keys run out by themselves, and readiness says so.
      failed++
    }
  }
  const timer = setInterval(() => void beat(), RENEW_MS)
  const first = beat()
  return {
    stop: async () => {
      clearInterval(timer)
      await first
      if (failed === 0) await client.del(readyKey).catch(() => failed++)
      // The ingest stamp goes last and by itself: deleting it early would let the watermark pass heartbeats in flight.
      if (failed === 0 && oldestUnqueued) await client.del(ingestKey).catch(() => failed++)
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
