import { v7 as uuidv7 } from 'uuid'
import type { Log } from '../shared/log.ts'
import { PRESENCE_TTL_SECONDS, presenceIndex, presenceKey, writePresence } from '../shared/presence.ts'
import type { RedisClient } from '../shared/redis.ts'
import type { Connections } from './connections.ts'

interface Deps {
  redis: RedisClient
  prefix: string
  connections: Connections
  log: Log
  /** Epoch ms. */
  clock: () => number
  /** Milliseconds that never jump. */
  monotonic: () => number
}

/** Keeps in Redis who is connected to this gateway and when they were last heard (shared/presence.ts). */
export interface PresenceKeeper {
  /** A socket of this agent or service opened or closed. */
  changed(agentId: string): void
  /** Once a second. */
  tick(): void
  stop(): Promise<void>
}

/** Agents that come back together are told together. */
const GATHER_MS = 50
/** Of a socket that talks all the time only so often. */
const AGAIN_MS = 2000

/** The agents whose last sign of life is newer than what was told of it. */
function noteHeard(connections: Connections, dirty: Set<string>): void {
  for (const { heardAt, toldAt, caller } of connections.all()) {
    if (heardAt - toldAt >= AGAIN_MS) dirty.add(caller.sourceId)
  }
}

export function createPresenceKeeper(deps: Deps): PresenceKeeper {
  const { redis, prefix, connections, log } = deps
  const gatewayId = uuidv7()
  const key = presenceKey(prefix, gatewayId)
  let dirty = new Set<string>()
  /** Everybody has to be told: Redis was away, or forgot. */
  let whole = false
  let gathering: NodeJS.Timeout | undefined
  let writing: Promise<void> | null = null

  /** What the hash is to hold of these agents, and whom it is to forget. */
  function entriesOf(agentIds: Iterable<string>): { held: string[]; gone: string[] } {
    const ahead = deps.clock() - deps.monotonic()
    const [held, gone]: [string[], string[]] = [[], []]
    for (const agentId of agentIds) {
      const sessions = connections.of(agentId)
      if (sessions.length === 0) gone.push(agentId)
      else {
        const openedAt = Math.min(...sessions.map((session) => session.openedAt))
        const heardAt = Math.max(...sessions.map((session) => session.heardAt))
        for (const session of sessions) session.toldAt = session.heardAt
        held.push(agentId, writePresence({ openedAt: openedAt + ahead, heardAt: heardAt + ahead }))
      }
    }
    return { held, gone }
  }

  async function write(): Promise<void> {
    const ids = dirty
    dirty = new Set()
    try {
      const kept = await redis.expire(key, PRESENCE_TTL_SECONDS)
      if (whole || kept === 0) for (const { caller } of connections.all()) ids.add(caller.sourceId)
      const { held, gone } = entriesOf(ids)
      const commands: Promise<unknown>[] = []
      if (held.length > 0) commands.push(redis.hset(key, ...held))
      if (gone.length > 0) commands.push(redis.hdel(key, ...gone))
      commands.push(redis.expire(key, PRESENCE_TTL_SECONDS), redis.sadd(presenceIndex(prefix), gatewayId))
      await Promise.all(commands)
      whole = false
    } catch (error) {
      if (!whole) log.warn({ err: error }, 'who is connected was not told; everybody is told again')
      whole = true
    }
  }

  function flush(): void {
    clearTimeout(gathering)
    gathering = undefined
    writing ??= write().finally(() => {
      writing = null
    })
  }

  return {
    changed: (agentId) => {
      dirty.add(agentId)
      gathering ??= setTimeout(flush, GATHER_MS)
    },
    tick: () => {
      noteHeard(connections, dirty)
      flush()
    },
    stop: async () => {
      clearTimeout(gathering)
      await writing
      try {
        await redis.del(key)
        await redis.srem(presenceIndex(prefix), gatewayId)
      } catch (error) {
        log.warn({ err: error }, 'that nobody is connected any more was not told; it is forgotten in seconds')
      }
    }
  }
}
