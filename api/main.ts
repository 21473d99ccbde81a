import { v7 as uuidv7 } from 'uuid'
import { startAdminServer } from '../shared/admin-server.ts'
import { announce } from '../shared/instances.ts'
import { run } from '../shared/lifecycle.ts'
import { tlsFiles } from '../shared/tls.ts'
import { readConfig } from './config.ts'
import { openParts } from './open-parts.ts'
import { startApi } from './server.ts'

await run('api', readConfig, async (life) => {
  const { config, log, stopWith } = life
  const parts = await openParts(life)
  const { db, redis, redisPrefix: prefix, door, metrics, clock } = parts
  const oldestUnqueued = () => door.oldestUnqueued()
  // Stopped after the door: its stamp holds the watermark back until the last heartbeat is queued.
  stopWith(announce({ client: redis.client, prefix, kind: 'api', id: uuidv7(), oldestUnqueued, clock }))
  stopWith(door)
  const admin = stopWith(
    await startAdminServer({
      port: config.API_ADMIN_PORT,
      log,
      metrics,
      ready: [
        ['postgres', db.ping],
        ['redis', redis.ping]
      ]
    })
  )
  const { API_URL: apiUrl, APP_URL: appUrl, SITE_URL: siteUrl, INGEST_URL: ingestUrl } = config
  // The gateway's too: where the certificate is ours, all processes share one.
  const hosts = [apiUrl, appUrl, siteUrl, ingestUrl].flatMap((url) =>
    url === undefined ? [] : [new URL(url).hostname]
  )
  const api = await startApi({
    parts,
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
