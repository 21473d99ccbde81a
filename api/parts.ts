import type { Resolver } from 'node:dns/promises'
import type { BackOff } from '../shared/back-off.ts'
import type { SsoProvider } from '../shared/contract/sso.ts'
import type { Counts } from '../shared/counts.ts'
import type { Database } from '../shared/db.ts'
import type { Callers } from '../shared/identity/callers.ts'
import type { KeyUse } from '../shared/identity/key-use.ts'
import type { Door } from '../shared/ingest/accept.ts'
import type { Log } from '../shared/log.ts'
import type { Metrics } from '../shared/metrics.ts'
import type { RateLimit } from '../shared/rate-limit.ts'
import type { RedisConnection } from '../shared/redis.ts'
import type { Secrets } from '../shared/secrets.ts'
import type { AddressGuard } from '../shared/webhooks/address-guard.ts'
import type { Afterwards } from './afterwards.ts'
import type { Mail } from './mail/mail.ts'
import type { Passwords } from './sign-in/password.ts'
import type { SigningKeys } from './sign-in/signing-keys.ts'
import type { SsoSettings } from './sign-in/sso/providers.ts'

/** Where this installation is reached, without a slash at the end. */
export interface Addresses {
  apiUrl: string
  appUrl: string
  siteUrl: string
  ingestUrl: string
}

/** Failed sign-ins, by account and by network. */
export interface SignInLimits {
  account: BackOff
  network: RateLimit
}

/** Everything that the API is made of. */
export interface Parts {
  db: Database
  /** History is read here; the same as `db` where there is no replica. */
  readDb: Database
  redis: RedisConnection
  redisPrefix: string
  secrets: Secrets
  callers: Callers
  keyUse: KeyUse
  door: Door
  signInLimits: SignInLimits
  /** What requests are counted by. */
  counts: Counts
  /** Multiplies every limit. */
  rateLimitScale: number
  signingKeys: SigningKeys
  passwords: Passwords
  afterwards: Afterwards
  mail: Mail
  sso: SsoSettings
  /** Which identity providers people can sign in by. */
  ssoProviders: Record<SsoProvider, boolean>
  /** Where the proofs of domains are looked up. */
  dns: Pick<Resolver, 'resolveTxt'>
  /** Where webhooks may go. */
  webhookGuard: AddressGuard
  /** Ends the streams that would never end by themselves, when the server stops. */
  stopping: AbortController
  metrics: Metrics
  log: Log
  clock: () => number
  /** Milliseconds that never jump. */
  monotonic: () => number
  /** Plan of new organizations. */
  defaultPlan: string
}
