import type { SsoProvider } from '../../../shared/contract/sso.ts'
import { randomBase62 } from '../../../shared/identity/api-key.ts'
import { hostCookie, readCookie } from '../cookies.ts'
import { createSealedStore, type SealedStoreParts } from './sealed-store.ts'

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

/** Lax, so that it comes along when the provider sends the browser back. */
const COOKIE = '__Host-sso'
const LIFE_MS = 10 * 60_000
const TOKEN_LENGTH = 43

interface Kept {
  attempt: Attempt
  /** Digest of the cookie, in base64. */
  browser: string
}

function cookie(value: string, maxAgeSeconds: number): string {
  return hostCookie(COOKIE, value, { maxAgeSeconds, sameSite: 'lax' })
}

/** Takes the cookie out of the browser. */
export const CLEARED_SSO_COOKIE = cookie('', 0)

/** By their state, so that who reads in Redis can neither end one nor learn an invitation. */
export function createAttempts(parts: SealedStoreParts): Attempts {
  const { secrets } = parts
  const store = createSealedStore<Kept>(parts, { name: 'sso', lifeMs: LIFE_MS })
  return {
    begin: async (attempt) => {
      const token = randomBase62(TOKEN_LENGTH)
      await store.put(attempt.state, { attempt, browser: secrets.digest(token).toString('base64') })
      return cookie(token, LIFE_MS / 1000)
    },

    take: async (state, cookieHeader) => {
      const kept = await store.take(state)
      const token = readCookie(cookieHeader, COOKIE)
      if (kept === null || token === undefined) return null
      return secrets.matches(token, Buffer.from(kept.browser, 'base64')) ? kept.attempt : null
    }
  }
}
