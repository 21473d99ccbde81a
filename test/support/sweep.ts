import { v7 as uuidv7 } from 'uuid'
import { createMetrics } from '../../shared/metrics.ts'
import { presenceIndex, presenceKey, writePresence } from '../../shared/presence.ts'
import { GroupWriter } from '../../worker/group-writer.ts'
import { Sweep, type Swept } from '../../worker/sweep.ts'
import type { TearsDown } from './database.ts'
import { openStores, type Stores } from './ingest.ts'
import { type JobRow, jobOf, keyOf } from './jobs.ts'
import { createTenant, type Tenant } from './tenant.ts'

export interface TransitionSeen {
  step: string
  reason: string
  /** Seconds from the scene's beginning. */
  at: number
}

/** A monitor, its source, and a clock that only the test moves. Seconds count from its beginning. */
export interface SweepScene {
  stores: Stores
  tenant: Tenant
  monitorId: string
  key: number
  sourceId: string
  /** Epoch ms. */
  at(second: number): number
  /** A heartbeat that was received at `second`, told `late` seconds before that. */
  hear(second: number, fields?: Partial<JobRow> & { late?: number }): Promise<void>
  /** One round of a sweep at `second`, with ingest up unless told otherwise. */
  sweep(second: number, options?: { ingest?: 'up' | 'away' | { stamp: number; since?: number } }): Promise<Swept>
  /** Says that an agent has a socket since `opened`, and was last heard at `heard`; null: it has none. */
  connect(agentId: string, presence: { opened: number; heard: number } | null): Promise<void>
  transitions(): Promise<TransitionSeen[]>
  configure(set: string, values: unknown[]): Promise<void>
}

const GATEWAY = 'a-gateway'

async function stampIngest({ redis, prefix }: Stores, stamp: number | null, since: number): Promise<void> {
  const { client } = redis
  if (stamp === null) {
    await client.del(`${prefix}:ingest:door`)
    await client.del(`${prefix}:ingest-since`)
    return
  }
  await client.set(`${prefix}:ingest:door`, String(stamp))
  await client.sadd(`${prefix}:ingest`, 'door')
  await client.set(`${prefix}:ingest-since`, String(since))
}

async function sweepAt(stores: Stores, now: number): Promise<Swept> {
  const { db, redis, prefix, queue, log } = stores
  const metrics = createMetrics()
  return new Sweep({ db, client: redis.client, prefix, queue, metrics, log, clock: () => now }).round()
}

/** The monitor has an interval of 60 s and a grace of 30 s unless told otherwise. */
export async function sweepSceneFor(
  t: TearsDown,
  options: { kind?: string; intervalSeconds?: number; graceSeconds?: number; beginsAt?: number } = {}
): Promise<SweepScene> {
  const stores = await openStores(t)
  const tenant = await createTenant(stores.db, stores.secrets)
  const monitorId = await tenant.addMonitor(options)
  const key = await keyOf(stores, monitorId)
  const sourceId = uuidv7()
  const start = options.beginsAt ?? Math.floor(Date.now() / 60_000) * 60_000 - 7_200_000
  await stores.db.query('update monitor_states set state_since = $1', [new Date(start - 1000)])
  const at = (second: number) => start + second * 1000
  const writer = new GroupWriter({ ...stores, metrics: createMetrics(), clock: () => Date.now() })
  return {
    stores,
    tenant,
    monitorId,
    key,
    sourceId,
    at,
    hear: async (second, { late = 0, ...fields } = {}) => {
      const row = { key, sourceId, timestamp: at(second - late), receivedAt: at(second), ...fields }
      await writer.write(jobOf([row]))
    },
    sweep: async (second, { ingest = 'up' } = {}) => {
      const up = ingest === 'up' ? { stamp: second } : ingest
      if (up === 'away') await stampIngest(stores, null, 0)
      else await stampIngest(stores, at(up.stamp), at(up.since ?? -3600))
      return sweepAt(stores, at(second))
    },
    connect: async (agentId, presence) => {
      const { redis, prefix } = stores
      const hash = presenceKey(prefix, GATEWAY)
      await redis.client.sadd(presenceIndex(prefix), GATEWAY)
      if (presence === null) await redis.client.hdel(hash, agentId)
      else {
        const text = writePresence({ openedAt: at(presence.opened), heardAt: at(presence.heard) })
        await redis.client.hset(hash, agentId, text)
      }
    },
    transitions: async () => {
      const rows = await stores.db.query<{ step: string; reason: string; at: Date }>(
        `select from_state || ' ' || to_state as step, reason, at from transitions where monitor_key = $1 order by at, id`,
        [key]
      )
      return rows.map(({ step, reason, at: time }) => ({ step, reason, at: (time.getTime() - start) / 1000 }))
    },
    configure: async (set, values) => {
      await stores.db.query(`update monitors set ${set} where key = $1`, [key, ...values])
    }
  }
}
