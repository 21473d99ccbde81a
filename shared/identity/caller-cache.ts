import type { Change, Changes } from '../changes.ts'
import type { Caller } from './caller.ts'

/** Longest time a cached caller is trusted without having heard of a change, in milliseconds. */
const TRUST_MS = 30_000
/** A caller younger than this is not read again for an unknown monitor. */
const FRESH_MS = 1000
/** Callers kept; the oldest go first. */
const CAPACITY = 50_000

type Read = () => Promise<Caller | null>

interface Entry {
  caller: Caller
  /** Monotonic ms. */
  readAt: number
}

function touches(change: Change, caller: Caller): boolean {
  switch (change.type) {
    case 'resync':
      return true
    case 'organization_changed':
      return caller.organizationId === change.organizationId
    case 'keys_revoked':
    case 'agent_changed':
      return caller.sourceId === change.agentId
    case 'agent_connected':
      return false
  }
}

/** Callers by the name of what they showed, kept for a short while and forgotten as soon as a change touches them. */
export class CallerCache {
  readonly #entries = new Map<string, Entry>()
  /** How to read a caller again, for as long as somebody holds it, even when the cache does not. */
  readonly #origins = new WeakMap<Caller, { name: string; read: Read }>()
  /** Look-ups under way, so that many who ask for one caller cost one. */
  readonly #underWay = new Map<string, Promise<Caller | null>>()
  /** What each look-up under way heard of: one that began before a revocation is not believed after it. */
  readonly #hearing = new Set<Change[]>()
  readonly #unlisten: () => void

  constructor(changes: Changes) {
    this.#unlisten = changes.listen((change) => this.#hear(change))
  }

  #hear(change: Change): void {
    if (change.type === 'agent_connected') return
    for (const heard of this.#hearing) heard.push(change)
    for (const [name, { caller }] of this.#entries) if (touches(change, caller)) this.#entries.delete(name)
  }

  find(name: string, read: Read, trustMs = TRUST_MS): Promise<Caller | null> {
    const known = this.#entries.get(name)
    if (known !== undefined && performance.now() - known.readAt < trustMs) return Promise.resolve(known.caller)
    const underWay = this.#underWay.get(name)
    if (underWay !== undefined) return underWay
    const reading = this.#read(name, read).finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, reading)
    return reading
  }

  /** The caller as it is now, read anew at most once a second. */
  async refreshed(caller: Caller): Promise<Caller> {
    const origin = this.#origins.get(caller)
    return origin === undefined ? caller : ((await this.find(origin.name, origin.read, FRESH_MS)) ?? caller)
  }

  async #read(name: string, read: Read): Promise<Caller | null> {
    const heard: Change[] = []
    this.#hearing.add(heard)
    try {
      let caller = await read()
      while (caller !== null && heard.some((change) => touches(change, caller as Caller))) {
        heard.length = 0
        caller = await read()
      }
      this.#entries.delete(name)
      if (caller !== null) this.#keep(name, caller, read)
      return caller
    } finally {
      this.#hearing.delete(heard)
    }
  }

  #keep(name: string, caller: Caller, read: Read): void {
    this.#origins.set(caller, { name, read })
    this.#entries.set(name, { caller, readAt: performance.now() })
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > CAPACITY && oldest !== undefined) this.#entries.delete(oldest)
  }

  stop(): void {
    this.#unlisten()
    this.#entries.clear()
  }
}
