import { Resolver } from 'node:dns/promises'
import { subscribeChanges } from '../shared/changes.ts'
import { openCounts } from '../shared/counts.ts'
import { connectDb } from '../shared/db.ts'
import { createCallers } from '../shared/identity/callers.ts'
import { createKeyUse } from '../shared/identity/key-use.ts'
import { createDoor } from '../shared/ingest/accept.ts'
import type { Lifecycle } from '../shared/lifecycle.ts'
import { createMetrics } from '../shared/metrics.ts'
import { openQueue } from '../shared/queue.ts'
import { connectRedis, requireDurability } from '../shared/redis.ts'
import { requireSchema } from '../shared/schema.ts'
import { createSecrets } from '../shared/secrets.ts'
import { createAddressGuard } from '../shared/webhooks/address-guard.ts'
import { createAfterwards } from './afterwards.ts'
import type { ApiConfig } from './config.ts'
import { createMail } from './mail/mail.ts'
import type { Parts } from './parts.ts'
import { createSignInLimits } from './sign-in/limits.ts'
import { createPasswords } from './sign-in/password.ts'
import { createSigningKeys } from './sign-in/signing-keys.ts'
import type { SsoSettings } from './sign-in/sso/providers.ts'

function registration(issuer: string, clientId: string | undefined, clientSecret: string | undefined) {
  if (clientId === undefined || clientSecret === undefined) return null
  return { issuer: issuer.replace(/\/+$/, ''), clientId, clientSecret }
}

function ssoSettings(config: ApiConfig): SsoSettings {
  return {
    entra: registration(config.ENTRA_AUTHORITY, config.ENTRA_CLIENT_ID, config.ENTRA_CLIENT_SECRET),
    google: registration(config.GOOGLE_ISSUER, config.GOOGLE_CLIENT_ID, config.GOOGLE_CLIENT_SECRET)
  }
}

/**
 * Opens everything that the API works with, in the order of need; the door is the caller's to stop.
 * @throws StartupError when a store cannot be used.
 */
export async function openParts({ config, log, stopWith }: Lifecycle<ApiConfig>): Promise<Parts> {
  const { DATABASE_URL, DATABASE_READ_URL, REDIS_URL, REDIS_PREFIX: redisPrefix } = config
  const metrics = createMetrics()
  const clock = Date.now
  const secrets = createSecrets(config.SECRETS_KEY, config.SECRETS_KEY_OTHER)
  const db = stopWith(connectDb({ url: DATABASE_URL, role: 'pulsegate_api', log }))
  const readDb =
    DATABASE_READ_URL === undefined ? db : stopWith(connectDb({ url: DATABASE_READ_URL, role: 'pulsegate_api', log }))
  await requireSchema(db)
  const redis = stopWith(await connectRedis({ url: REDIS_URL, log, whenAway: 'fail' }))
  await requireDurability(redis.client, config.REDIS_DURABILITY, log)
  const subscriber = stopWith(await connectRedis({ url: REDIS_URL, log, whenAway: 'wait' }))
  const changes = stopWith(await subscribeChanges({ subscriber, prefix: redisPrefix, log }))
  const callers = stopWith(createCallers({ db, secrets, changes }))
  const keyUse = stopWith(createKeyUse({ db, log, clock }))
  const queue = stopWith(openQueue({ redis, prefix: redisPrefix, shards: config.QUEUE_SHARDS }))
  const door = createDoor({ queue, way: 'http', metrics, log, clock })
  const limiting = { client: redis.client, prefix: redisPrefix, scale: config.RATE_LIMIT_SCALE, log, clock }
  const signInLimits = createSignInLimits(limiting)
  const counts = stopWith(openCounts(limiting))
  const signingKeys = stopWith(createSigningKeys({ db, secrets, clock, log }))
  const passwords = stopWith(createPasswords(metrics))
  const mail = stopWith(createMail({ smtpUrl: config.SMTP_URL, from: config.MAIL_FROM, log }))
  const afterwards = stopWith(createAfterwards(log))
  const sso = ssoSettings(config)
  const defaultPlan = config.DEFAULT_PLAN
  return {
    db,
    readDb,
    redis,
    redisPrefix,
    secrets,
    callers,
    keyUse,
    door,
    signInLimits,
    counts,
    rateLimitScale: config.RATE_LIMIT_SCALE,
    signingKeys,
    passwords,
    afterwards,
    mail,
    webhookGuard: createAddressGuard(config.WEBHOOK_ALLOW),
    stopping: new AbortController(),
    sso,
    ssoProviders: { entra: sso.entra !== null, google: sso.google !== null },
    dns: new Resolver({ timeout: 3000, tries: 2 }),
    metrics,
    log,
    clock,
    monotonic: () => performance.now(),
    defaultPlan
  }
}
