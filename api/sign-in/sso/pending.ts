import { randomBase62 } from '../../../shared/identity/api-key.ts'
import { hostCookie, readCookie } from '../cookies.ts'
import type { Asked } from './admit.ts'
import { createSealedStore, type SealedStoreParts } from './sealed-store.ts'

/** A verified identity whose address has an account: it waits until the person of that account has shown its password. */
export interface PendingIdentities {
  /** Keeps it for ten minutes. Returns the cookie that is the only way to it. */
  keep(asked: Asked): Promise<string>
  /** Null: none waits for this browser, or no longer. */
  find(cookieHeader: string | undefined): Promise<Asked | null>
  /** The same; it is gone then. */
  take(cookieHeader: string | undefined): Promise<Asked | null>
}

/** Strict: it is of use to our own page alone. */
const COOKIE = '__Host-sso-pending'
const LIFE_MS = 10 * 60_000
const TOKEN_LENGTH = 43

function cookie(value: string, maxAgeSeconds: number): string {
  return hostCookie(COOKIE, value, { maxAgeSeconds, sameSite: 'strict' })
}

/** Takes the cookie out of the browser. */
export const CLEARED_PENDING_COOKIE = cookie('', 0)

export function createPendingIdentities(parts: SealedStoreParts): PendingIdentities {
  const store = createSealedStore<Asked>(parts, { name: 'sso-pending', lifeMs: LIFE_MS })
  const by = async (header: string | undefined, get: (token: string) => Promise<Asked | null>) => {
    const token = readCookie(header, COOKIE)
    return token === undefined ? null : get(token)
  }
  return {
    keep: async (asked) => {
      const token = randomBase62(TOKEN_LENGTH)
      await store.put(token, asked)
      return cookie(token, LIFE_MS / 1000)
    },
    find: (header) => by(header, store.read),
    take: (header) => by(header, store.take)
  }
}
