import type { Changes } from '../changes.ts'
import type { Database } from '../db.ts'
import type { Secrets } from '../secrets.ts'
import { type ApiKeyRow, findApiKey, findPushUrl, listMonitorKeys, type PushUrlRow } from '../store/callers.ts'
import { looksLikeApiKey } from './api-key.ts'

/** Who reports: everything that the ingest door asks of a caller, whatever the way in. */
export interface Caller {
  readonly kind: 'agent' | 'service' | 'user' | 'push'
  /** Part of a heartbeat's identity: id of the agent, service, user or push URL, never of a key. */
  readonly sourceId: string
  readonly organizationId: string
  readonly plan: string
  readonly suspended: boolean
  readonly scopes: ReadonlySet<string>
  /** The key that was shown, for agents and services. */
  readonly keyId: string | null
  /** Public monitor id → internal key: the monitors that this caller may report. */
  readonly monitors: ReadonlyMap<string, number>
}

export interface Callers {
  /** What may be kept of a key to look it up again: its digest in base64. Null: not one of our keys. */
  digestOf(apiKey: string): string | null
  /** Null: unknown or revoked (a caller must not learn which). */
  byDigest(digest: string): Promise<Caller | null>
  /** `digestOf` and `byDigest` in one. */
  byApiKey(apiKey: string): Promise<Caller | null>
  byPushToken(token: string): Promise<Caller | null>
  /** A signed-in person, who may report every monitor of the organization. Membership was checked before. */
  byUser(user: { id: string; organizationId: string; plan: string }): Promise<Caller>
  /** `caller` as it is now, read anew at most once a second: for a monitor that it does not know yet. */
  refreshed(caller: Caller): Promise<Caller>
  stop(): void
}

interface Options {
  db: Database
  secrets: Secrets
  changes: Changes
  clock: () => number
}

/** Longest time a cached caller is trusted without having heard of a change, in milliseconds. */
const TRUST_MS = 30_000
/** A caller younger than this is not read again for an unknown monitor. */
const FRESH_MS = 1000
/** Callers kept; the oldest go first. */
const CAPACITY = 50_000

interface Entry {
  caller: Caller
  readAt: number
  read: () => Promise<Caller | null>
}

function fromKey(row: ApiKeyRow): Caller {
  return {
    kind: row.kind,
    sourceId: row.agent_id,
    organizationId: row.organization_id,
    plan: row.plan,
    suspended: row.suspended,
    scopes: new Set(row.scopes),
    keyId: row.key_id,
    monitors: new Map(row.monitor_ids.map((id, i) => [id, Number(row.monitor_keys[i])]))
  }
}

function fromPushUrl(row: PushUrlRow): Caller {
  return {
    kind: 'push',
    sourceId: row.push_url_id,
    organizationId: row.organization_id,
    plan: row.plan,
    suspended: row.suspended,
    scopes: new Set(['heartbeats:write']),
    keyId: null,
    monitors: new Map([[row.monitor_id, row.monitor_key]])
  }
}

/** Looks callers up by what they show, with a short cache that follows `changes`. */
export function createCallers({ db, secrets, changes, clock }: Options): Callers {
  const cache = new Map<string, Entry>()
  // Counts what was heard, so that a look-up that began before a revocation is not kept, nor believed, after it.
  let heard = 0

  const unlisten = changes.listen((change) => {
    if (change.type === 'agent_connected') return
    heard++
    for (const [name, { caller }] of cache) {
      const touched =
        change.type === 'resync' ||
        (change.type === 'organization_changed'
          ? caller.organizationId === change.organizationId
          : caller.sourceId === change.agentId)
      if (touched) cache.delete(name)
    }
  })

  async function readSettled(read: () => Promise<Caller | null>): Promise<Caller | null> {
    for (;;) {
      const before = heard
      const caller = await read()
      if (before === heard) return caller
    }
  }

  async function find(name: string, read: () => Promise<Caller | null>, trustMs: number): Promise<Caller | null> {
    const known = cache.get(name)
    if (known !== undefined && clock() - known.readAt < trustMs) return known.caller
    const caller = await readSettled(read)
    cache.delete(name)
    if (caller !== null) {
      cache.set(name, { caller, readAt: clock(), read })
      if (cache.size > CAPACITY) cache.delete(cache.keys().next().value as string)
    }
    return caller
  }

  function nameOf(caller: Caller): string | undefined {
    for (const [name, entry] of cache) if (entry.caller === caller) return name
    return undefined
  }

  function digestOf(apiKey: string): string | null {
    return looksLikeApiKey(apiKey) ? secrets.digest(apiKey).toString('base64') : null
  }

  function byDigest(digest: string): Promise<Caller | null> {
    const read = async () => {
      const row = await findApiKey(db, Buffer.from(digest, 'base64'))
      return row === undefined ? null : fromKey(row)
    }
    return find(`key:${digest}`, read, TRUST_MS)
  }

  return {
    digestOf,
    byDigest,
    byApiKey: async (apiKey) => {
      const digest = digestOf(apiKey)
      return digest === null ? null : byDigest(digest)
    },
    byPushToken: async (token) => {
      const digest = secrets.digest(token)
      return find(
        `push:${digest.toString('base64')}`,
        async () => {
          const row = await findPushUrl(db, digest)
          return row === undefined ? null : fromPushUrl(row)
        },
        TRUST_MS
      )
    },
    byUser: async ({ id, organizationId, plan }) => {
      const read = async (): Promise<Caller> => ({
        kind: 'user',
        sourceId: id,
        organizationId,
        plan,
        suspended: false,
        scopes: new Set(['heartbeats:write', 'heartbeats:read', 'monitors:read']),
        keyId: null,
        monitors: new Map(await db.tenant(organizationId, (tx) => listMonitorKeys(tx, organizationId)))
      })
      return (await find(`user:${id}:${organizationId}`, read, TRUST_MS)) ?? (await read())
    },
    refreshed: async (caller) => {
      const name = nameOf(caller)
      const entry = name === undefined ? undefined : cache.get(name)
      if (name === undefined || entry === undefined) return caller
      return (await find(name, entry.read, FRESH_MS)) ?? caller
    },
    stop: () => {
      unlisten()
      cache.clear()
    }
  }
}
