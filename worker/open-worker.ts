import { v7 as uuidv7 } from 'uuid'
import { startAdminServer } from '../shared/admin-server.ts'
import { connectDb } from '../shared/db.ts'
import { announce } from '../shared/instances.ts'
import type { Lifecycle } from '../shared/lifecycle.ts'
import { createMetrics } from '../shared/metrics.ts'
import { openQueue } from '../shared/queue.ts'
import { connectRedis, requireDurability } from '../shared/redis.ts'
import { requireSchema } from '../shared/schema.ts'
import { createSecrets } from '../shared/secrets.ts'
import { WRITER_SETTINGS } from '../shared/store/monitor-states.ts'
import type { WorkerConfig } from './config.ts'
import { startWorker } from './worker.ts'

/** Opens a worker's stores, starts it and tells when it is ready. `states`: as of `startWorker`. */
export async function openWorker(
  { config, log, stopWith }: Lifecycle<WorkerConfig>,
  { states } = { states: true }
): Promise<void> {
  const metrics = createMetrics()
  const clock = Date.now
  const prefix = config.REDIS_PREFIX
  const db = stopWith(
    connectDb({
      url: config.DATABASE_URL,
      role: 'pulsegate_system',
      log,
      max: 4,
      statementTimeoutMs: 60_000,
      settings: WRITER_SETTINGS
    })
  )
  await requireSchema(db)
  const redis = stopWith(await connectRedis({ url: config.REDIS_URL, log, whenAway: 'wait' }))
  await requireDurability(redis.client, config.REDIS_DURABILITY, log)
  const queue = stopWith(openQueue({ redis, prefix, shards: config.QUEUE_SHARDS }))
  const admin = stopWith(
    await startAdminServer({
      port: config.WORKER_ADMIN_PORT,
      log,
      metrics,
      ready: [
        ['postgres', db.ping],
        ['redis', redis.ping]
      ]
    })
  )
  const secrets = createSecrets(config.SECRETS_KEY, config.SECRETS_KEY_OTHER)
  const webhookAllow = config.WEBHOOK_ALLOW
  stopWith(await startWorker({ db, redis, prefix, queue, secrets, webhookAllow, metrics, log, clock, states }))
  // Stopped before the worker: who takes no more jobs is no longer counted.
  stopWith(announce({ client: redis.client, prefix, kind: 'worker', id: uuidv7(), clock }))
  stopWith({ stop: admin.draining })
  log.info({ admin: admin.port }, 'working')
}
