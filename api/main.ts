import { v7 as uuidv7 } from 'uuid'
import { startAdminServer } from '../shared/admin-server.ts'
import { subscribeChanges } from '../shared/changes.ts'
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
import { startApi } from './server.ts'
import { createSignInLimits } from './sign-in/limits.ts'

await run('api', readConfig, async ({ config, log, stopWith }) => {
  const metrics = createMetrics()
  const clock = Date.now
  const redisPrefix = config.REDIS_PREFIX
  const secrets = createSecrets(config.SECRETS_KEY)
  const db = stopWith(connectDb({ url: config.DATABASE_URL, role: 'pulsegate_api', log }))
  const readUrl = config.DATABASE_READ_URL
  const readDb = readUrl === undefined ? db : stopWith(connectDb({ url: readUrl, role: 'pulsegate_api', log }))
  await requireSchema(db)
  const redis = stopWith(await connectRedis({ url: config.REDIS_URL, log, whenAway: 'fail' }))
  await requireDurability(redis.client, config.REDIS_DURABILITY, log)
  const subscriber = stopWith(await connectRedis({ url: config.REDIS_URL, log, whenAway: 'wait' }))
  const changes = stopWith(await subscribeChanges({ subscriber, prefix: redisPrefix, log }))
  const callers = stopWith(createCallers({ db, secrets, changes, clock }))
  const queue = stopWith(openQueue({ redis, prefix: redisPrefix, shards: config.QUEUE_SHARDS }))
  const door = createDoor({ queue, way: 'http', metrics, log, clock })
  const oldestUnqueued = () => door.oldestUnqueued()
  // Stopped after the door: its stamp holds the watermark back until the last heartbeat is queued.
  stopWith(announce({ client: redis.client, prefix: redisPrefix, kind: 'api', id: uuidv7(), oldestUnqueued, clock }))
  stopWith(door)
  const signInLimits = createSignInLimits(redis.client, redisPrefix, config.RATE_LIMIT_SCALE)
  const ready = [['postgres', db.ping] as const, ['redis', redis.ping] as const]
  const admin = stopWith(await startAdminServer({ port: config.API_ADMIN_PORT, log, metrics, ready }))
  const { API_URL: apiUrl, APP_URL: appUrl, SITE_URL: siteUrl, INGEST_URL: ingestUrl } = config
  const hosts = [apiUrl, appUrl, siteUrl].flatMap((url) => (url === undefined ? [] : [new URL(url).hostname]))
  const api = await startApi({
    parts: {
      db,
      readDb,
      redis,
      redisPrefix,
      secrets,
      callers,
      door,
      signInLimits,
      metrics,
      log,
      clock,
      defaultPlan: config.DEFAULT_PLAN
    },
    apiPort: config.API_PORT,
    httpPort: config.HTTP_PORT,
    tls: await tlsFiles(config, hosts),
    addresses: { apiUrl, appUrl, siteUrl, ingestUrl }
  })
  stopWith({
    stop: () => {
      admin.draining()
      return api.stop()
    }
  })
  log.info({ port: api.httpsPort, httpPort: api.httpPort, admin: admin.port }, 'listening')
})
