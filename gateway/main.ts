import { v7 as uuidv7 } from 'uuid'
import { startAdminServer } from '../shared/admin-server.ts'
import { subscribeChanges } from '../shared/changes.ts'
import { openCounts } from '../shared/counts.ts'
import { connectDb } from '../shared/db.ts'
import { createCallers } from '../shared/identity/callers.ts'
import { createDoor } from '../shared/ingest/accept.ts'
import { announce } from '../shared/instances.ts'
import { run } from '../shared/lifecycle.ts'
import { createMetrics } from '../shared/metrics.ts'
import { openQueue } from '../shared/queue.ts'
import { connectRedis, requireDurability } from '../shared/redis.ts'
import { requireSchema } from '../shared/schema.ts'
import { createSecrets } from '../shared/secrets.ts'
import { tlsFiles } from '../shared/tls.ts'
import { readConfig } from './config.ts'
import { startGateway } from './gateway.ts'

await run('gateway', readConfig, async ({ config, log, stopWith }) => {
  const metrics = createMetrics()
  const clock = Date.now
  const prefix = config.REDIS_PREFIX
  const db = stopWith(connectDb({ url: config.DATABASE_URL, role: 'pulsegate_system', log, max: 5 }))
  await requireSchema(db)
  const redis = stopWith(await connectRedis({ url: config.REDIS_URL, log, whenAway: 'fail' }))
  await requireDurability(redis.client, config.REDIS_DURABILITY, log)
  const subscriber = stopWith(await connectRedis({ url: config.REDIS_URL, log, whenAway: 'wait' }))
  const changes = stopWith(await subscribeChanges({ subscriber, prefix, log }))
  const callers = stopWith(
    createCallers({ db, secrets: createSecrets(config.SECRETS_KEY, config.SECRETS_KEY_OTHER), changes })
  )
  const queue = stopWith(openQueue({ redis, prefix, shards: config.QUEUE_SHARDS }))
  const door = createDoor({ queue, way: 'socket', metrics, log, clock })
  const oldestUnqueued = () => door.oldestUnqueued()
  // Stopped after the door: its stamp holds the watermark back until the last heartbeat is queued.
  stopWith(announce({ client: redis.client, prefix, kind: 'gateway', id: uuidv7(), oldestUnqueued, clock }))
  stopWith(door)
  const admin = stopWith(
    await startAdminServer({
      port: config.GATEWAY_ADMIN_PORT,
      log,
      metrics,
      ready: [
        ['postgres', db.ping],
        ['redis', redis.ping]
      ]
    })
  )
  const counts = stopWith(openCounts({ client: redis.client, prefix, log, clock }))
  const refusals = counts.limit('refused', Math.ceil(60 * config.RATE_LIMIT_SCALE))
  const gateway = await startGateway({
    port: config.INGEST_PORT,
    tls: await tlsFiles(config, [new URL(config.INGEST_URL).hostname]),
    drainMs: config.DRAIN_SECONDS * 1000,
    db,
    redis: redis.client,
    prefix,
    callers,
    changes,
    door,
    refusals,
    metrics,
    log,
    clock,
    random: Math.random
  })
  stopWith({
    stop: () => {
      admin.draining()
      return gateway.stop()
    }
  })
  log.info({ port: gateway.port, admin: admin.port }, 'listening for agents')
})
