import { randomBytes } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { startGateway } from '../../gateway/gateway.ts'
import { type Changes, subscribeChanges } from '../../shared/changes.ts'
import { openCounts } from '../../shared/counts.ts'
import { connectDb, type Database } from '../../shared/db.ts'
import { type Callers, createCallers } from '../../shared/identity/callers.ts'
import { createDoor, type Door } from '../../shared/ingest/accept.ts'
import { announce } from '../../shared/instances.ts'
import { createLog, type Log } from '../../shared/log.ts'
import { createMetrics } from '../../shared/metrics.ts'
import { type IngestQueue, openQueue } from '../../shared/queue.ts'
import { connectRedis, type RedisConnection } from '../../shared/redis.ts'
import { createSecrets, type Secrets } from '../../shared/secrets.ts'
import { WRITER_SETTINGS } from '../../shared/store/monitor-states.ts'
import { type RunningWorker, startWorker } from '../../worker/worker.ts'
import { cloneDatabase, type TearsDown } from './database.ts'
import { redisFor } from './redis.ts'

/** What gateway, worker and API share in a test: a database and a Redis prefix of the test's own. */
export interface Stores {
  databaseUrl: string
  redisUrl: string
  prefix: string
  secretsKey: string
  secrets: Secrets
  /** As pulsegate_system. */
  db: Database
  /** Fails at once when Redis is away. */
  redis: RedisConnection
  queue: IngestQueue
  changes: Changes
  callers: Callers
  log: Log
}

const clock = Date.now

export interface StoresOptions {
  shards?: number
  /** A migrated database of the test's own server, for tests that kill it; absent: a clone on the run's. */
  databaseUrl?: string
  /** A Redis of the test's own, for tests that kill it; absent: the run's. */
  redisUrl?: string
}

/** Everything stops when the test ends, in the order in which it is needed. */
export async function openStores(t: TearsDown, options: StoresOptions = {}): Promise<Stores> {
  const { shards = 1 } = options
  const databaseUrl = options.databaseUrl ?? (await cloneDatabase(t)).url
  const { url: redisUrl, prefix } = options.redisUrl ? { url: options.redisUrl, prefix: 'test' } : redisFor(t)
  const log = createLog('test', 'fatal')
  const secretsKey = randomBytes(32).toString('base64')
  const secrets = createSecrets(secretsKey)
  const db = connectDb({ url: databaseUrl, role: 'pulsegate_system', log })
  const redis = await connectRedis({ url: redisUrl, log, whenAway: 'fail' })
  const subscriber = await connectRedis({ url: redisUrl, log, whenAway: 'wait' })
  const changes = await subscribeChanges({ subscriber, prefix, log })
  const callers = createCallers({ db, secrets, changes })
  const queue = openQueue({ redis, prefix, shards })
  t.teardown(async () => {
    callers.stop()
    await queue.stop()
    await subscriber.stop()
    await redis.stop()
    await db.stop()
  })
  return { databaseUrl, redisUrl, prefix, secretsKey, secrets, db, redis, queue, changes, callers, log }
}

export interface TestGateway {
  /** ws:// address. */
  url: string
  port: number
  door: Door
  /** How many sockets are open. */
  sockets(): number
  stop(): Promise<void>
}

export interface GatewayOptions {
  drainMs?: number
  /** Milliseconds that the test may move on. */
  monotonic?: () => number
  /** Epoch ms. */
  clock?: () => number
}

/** A gateway in this process, on plain sockets and a free port. */
export async function gatewayFor(
  t: TearsDown,
  stores: Stores,
  { drainMs = 1000, monotonic = () => performance.now(), clock = Date.now }: GatewayOptions = {}
): Promise<TestGateway> {
  const { queue, log, prefix } = stores
  const metrics = createMetrics()
  const door = createDoor({ queue, way: 'socket', metrics, log, clock })
  const client = stores.redis.client
  const instance = announce({
    client,
    prefix,
    kind: 'gateway',
    id: uuidv7(),
    oldestUnqueued: () => door.oldestUnqueued(),
    clock
  })
  const counts = openCounts({ client, prefix, log, clock })
  const gateway = await startGateway({
    ...stores,
    redis: client,
    port: 0,
    tls: null,
    drainMs,
    door,
    refusals: counts.limit('refused', 60),
    metrics,
    clock,
    monotonic,
    random: Math.random
  })
  let stopping: Promise<void> | undefined
  const stop = () => {
    stopping ??= gateway.stop().then(async () => {
      await door.stop()
      await instance.stop()
      await counts.stop()
    })
    return stopping
  }
  t.teardown(stop)
  return { url: `ws://127.0.0.1:${gateway.port}/`, port: gateway.port, door, sockets: gateway.sockets, stop }
}

/** A worker in this process. */
export async function workerFor(t: TearsDown, stores: Stores, metrics = createMetrics()): Promise<RunningWorker> {
  const { log, prefix, queue, redisUrl, databaseUrl, secrets } = stores
  const webhookAllow = ['127.0.0.0/8']
  const redis = await connectRedis({ url: redisUrl, log, whenAway: 'wait' })
  const db = connectDb({ url: databaseUrl, role: 'pulsegate_system', log, max: 3, settings: WRITER_SETTINGS })
  const worker = await startWorker({ db, redis, prefix, queue, secrets, webhookAllow, metrics, log, clock })
  const instance = announce({ client: redis.client, prefix, kind: 'worker', id: uuidv7(), clock })
  let stopping: Promise<void> | undefined
  const stop = () => {
    stopping ??= (async () => {
      await instance.stop()
      await worker.stop()
      await redis.stop()
      await db.stop()
    })()
    return stopping
  }
  t.teardown(stop)
  return { stop }
}
