import { timingSafeEqual } from 'node:crypto'
import { parse, serialize } from 'cookie'
import type { SsoProvider } from '../../../shared/contract/sso.ts'
import { randomBase62 } from '../../../shared/identity/api-key.ts'
import type { RedisConnection } from '../../../shared/redis.ts'
import type { Secrets } from '../../../shared/secrets.ts'

/** A sign-in that the browser is away for. */
export interface Attempt {
  provider: SsoProvider
  /** Tenants that may answer; null: any. */
  tenants: string[] | null
  state: string
  nonce: string
  codeVerifier: string
  returnTo: string
  organizationId: string | null
  /** The token of an invitation to accept. */
  invitation: string | null
  /** The session whose account the identity is to be linked to. */
  link: { sessionId: string; userId: string } | null
}

export interface Attempts {
  /** Keeps it for ten minutes. Returns the cookie that binds it to this browser. */
  begin(attempt: Attempt): Promise<string>
  /** Whatever comes of it, it is gone. Null: unknown, used, too old, or begun in another browser. */
  take(state: string, cookieHeader: string | undefined): Promise<Attempt | null>
}

interface Options {
  redis: RedisConnection
  redisPrefix: string
  secrets: Secrets
  clock: () => number
}

/** Lax, so that it comes along when the provider sends the browser back. */
const COOKIE = '__Host-sso'
const LIFE_MS = 10 * 60_000
const TOKEN_LENGTH = 43

interface Kept {
  attempt: Attempt
  /** Digest of the cookie, in base64. */
  browser: string
  endsAt: number
}

function cookie(value: string, maxAgeSeconds: number): string {
  const flags = { httpOnly: true, secure: true, sameSite: 'lax', path: '/' } as const
  return serialize(COOKIE, value, { ...flags, maxAge: maxAgeSeconds })
}

/** Takes the cookie out of the browser. */
export const CLEARED_SSO_COOKIE = cookie('', 0)

/** Attempts in Redis, sealed: who reads there can neither end one nor learn an invitation. */
export function createAttempts({ redis, redisPrefix, secrets, clock }: Options): Attempts {
  const keyOf = (state: string) => `${redisPrefix}:sso:${secrets.digest(state).toString('base64url')}`
  return {
    begin: async (attempt) => {
      const token = randomBase62(TOKEN_LENGTH)
      const key = keyOf(attempt.state)
      const browser = secrets.digest(token).toString('base64')
      const kept: Kept = { attempt, browser, endsAt: clock() + LIFE_MS }
      const sealed = secrets.seal(JSON.stringify(kept), key).toString('base64')
      await redis.client.set(key, sealed, 'PX', LIFE_MS)
      return cookie(token, LIFE_MS / 1000)
    },

    take: async (state, cookieHeader) => {
      const key = keyOf(state)
      const sealed = await redis.client.getdel(key)
      const token = cookieHeader === undefined ? undefined : parse(cookieHeader)[COOKIE]
      if (sealed === null || token === undefined) return null
      const { attempt, browser, endsAt } = JSON.parse(secrets.open(Buffer.from(sealed, 'base64'), key)) as Kept
      const isSameBrowser = timingSafeEqual(secrets.digest(token), Buffer.from(browser, 'base64'))
      return isSameBrowser && clock() < endsAt ? attempt : null
    }
  }
}
