import type { Change, Changes } from '../changes.ts'
import type { Database } from '../db.ts'
import type { Secrets } from '../secrets.ts'
import { type ApiKeyRow, findApiKey, findPushUrl, listMonitorKeys, type PushUrlRow } from '../store/callers.ts'
import { looksLikeApiKey } from './api-key.ts'
import type { Caller } from './caller.ts'
import { CallerCache } from './caller-cache.ts'

export interface Callers {
  /** What may be kept of a key to look it up again: its digests as `digestText` gives them. Null: not one of our keys. */
  digestOf(apiKey: string): string | null
  /** Null: unknown or revoked (a caller must not learn which). */
  byDigest(digest: string): Promise<Caller | null>
  /** `digestOf` and `byDigest` in one. */
  byApiKey(apiKey: string): Promise<Caller | null>
  byPushToken(token: string): Promise<Caller | null>
  /** A signed-in person, who may report every monitor of the organization. Membership was checked before. */
  byUser(user: User): Promise<Caller>
  /** `caller` as it is now, read anew at most once a second: for a monitor that it does not know yet. */
  refreshed(caller: Caller): Promise<Caller>
  /** A change that this process made itself: it must not trust its cache until the message comes round. */
  hear(change: Change): void
  stop(): void
}

interface Options {
  db: Database
  secrets: Secrets
  changes: Changes
}

const SCOPES = new Map<string, ReadonlySet<string>>()

/** One set for all who have the same scopes: there are few kinds, and thousands of callers. */
function scopesOf(scopes: readonly string[]): ReadonlySet<string> {
  const name = scopes.join(' ')
  const known = SCOPES.get(name) ?? new Set(scopes)
  SCOPES.set(name, known)
  return known
}

function fromKey(row: ApiKeyRow): Caller {
  return {
    kind: row.kind,
    sourceId: row.agent_id,
    organizationId: row.organization_id,
    plan: row.plan,
    suspended: row.suspended,
    scopes: scopesOf(row.scopes),
    keyId: row.key_id,
    monitors: new Map(row.monitor_ids.map((id, i) => [id, Number(row.monitor_keys[i])]))
  }
}

interface User {
  id: string
  organizationId: string
  plan: string
}

function fromUser({ id, organizationId, plan }: User, monitors: Array<[id: string, key: number]>): Caller {
  return {
    kind: 'user',
    sourceId: id,
    organizationId,
    plan,
    suspended: false,
    scopes: scopesOf(['heartbeats:write', 'heartbeats:read', 'monitors:read']),
    keyId: null,
    monitors: new Map(monitors)
  }
}

function fromPushUrl(row: PushUrlRow): Caller {
  return {
    kind: 'push',
    sourceId: row.push_url_id,
    organizationId: row.organization_id,
    plan: row.plan,
    suspended: row.suspended,
    scopes: scopesOf(['heartbeats:write']),
    keyId: null,
    monitors: new Map([[row.monitor_id, row.monitor_key]])
  }
}

/** The row of the first of these digests, in base64, that is known. */
async function firstOf<Row>(
  digests: readonly string[],
  find: (digest: Buffer) => Promise<Row | undefined>
): Promise<Row | undefined> {
  for (const digest of digests) {
    const row = await find(Buffer.from(digest, 'base64'))
    if (row !== undefined) return row
  }
  return undefined
}

/** Looks callers up by what they show, with a short cache that follows `changes`. */
export function createCallers({ db, secrets, changes }: Options): Callers {
  async function read(name: string): Promise<Caller | null> {
    const [kind, ...words] = name.split(' ')
    if (kind === 'user') {
      const [first = '', second = '', plan = ''] = words
      const monitors = await db.tenant(second, (tx) => listMonitorKeys(tx, second))
      return fromUser({ id: first, organizationId: second, plan }, monitors)
    }
    if (kind === 'key') {
      const row = await firstOf(words, (digest) => findApiKey(db, digest))
      return row === undefined ? null : fromKey(row)
    }
    const row = await firstOf(words, (digest) => findPushUrl(db, digest))
    return row === undefined ? null : fromPushUrl(row)
  }

  const cache = new CallerCache(changes, read)

  function digestOf(apiKey: string): string | null {
    return looksLikeApiKey(apiKey) ? secrets.digestText(apiKey) : null
  }

  return {
    digestOf,
    byDigest: (digest) => cache.find(`key ${digest}`),
    byApiKey: async (apiKey) => {
      const digest = digestOf(apiKey)
      return digest === null ? null : cache.find(`key ${digest}`)
    },
    byPushToken: (token) => cache.find(`push ${secrets.digestText(token)}`),
    byUser: async ({ id, organizationId, plan }) => {
      const caller = await cache.find(`user ${id} ${organizationId} ${plan}`)
      if (caller === null) throw new Error('a user is always found: membership was checked before')
      return caller
    },
    refreshed: (caller) => cache.refreshed(caller),
    hear: (change) => cache.hear(change),
    stop: () => cache.stop()
  }
}
