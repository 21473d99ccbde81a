import type { Change, Changes } from '../changes.ts'
import type { Caller } from './caller.ts'

/** Longest time a cached caller is trusted without having heard of a change, in milliseconds. */
const TRUST_MS = 30_000
/** A caller younger than this is not read again for an unknown monitor. */
const FRESH_MS = 1000
/** Callers kept; the oldest go first. */
const CAPACITY = 50_000

/** Reads the caller of a name from the database. */
type Read = (name: string) => Promise<Caller | null>

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
  readonly #read: Read
  /** The name of a caller for as long as somebody holds it, even when the cache does not. */
  readonly #names = new WeakMap<Caller, string>()
  /** Look-ups under way, so that many who ask for one caller cost one. */
  readonly #underWay = new Map<string, Promise<Caller | null>>()
  /** What each look-up under way heard of: one that began before a revocation is not believed after it. */
  readonly #hearing = new Set<Change[]>()
  readonly #unlisten: () => void

  constructor(changes: Changes, read: Read) {
    this.#read = read
    this.#unlisten = changes.listen((change) => this.hear(change))
  }

  /** Forgets whom the change touches. */
  hear(change: Change): void {
    if (change.type === 'agent_connected') return
    for (const heard of this.#hearing) heard.push(change)
    for (const [name, { caller }] of this.#entries) if (touches(change, caller)) this.#entries.delete(name)
  }

  find(name: string, trustMs = TRUST_MS): Promise<Caller | null> {
    const known = this.#entries.get(name)
    if (known !== undefined && performance.now() - known.readAt < trustMs) return Promise.resolve(known.caller)
    const underWay = this.#underWay.get(name)
    if (underWay !== undefined) return underWay
    const reading = this.#readSettled(name).finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, reading)
    return reading
  }

  /** The caller as it is now, read anew at most once a second. */
  async refreshed(caller: Caller): Promise<Caller> {
    const name = this.#names.get(caller)
    return name === undefined ? caller : ((await this.find(name, FRESH_MS)) ?? caller)
  }

  async #readSettled(name: string): Promise<Caller | null> {
    const heard: Change[] = []
    this.#hearing.add(heard)
    try {
      let caller = await this.#read(name)
      while (caller !== null && heard.some((change) => touches(change, caller as Caller))) {
        heard.length = 0
        caller = await this.#read(name)
      }
      this.#entries.delete(name)
      if (caller !== null) this.#keep(name, caller)
      return caller
    } finally {
      this.#hearing.delete(heard)
    }
  }

  #keep(name: string, caller: Caller): void {
    const now = performance.now()
    this.#names.set(caller, name)
    this.#entries.set(name, { caller, readAt: now })
    // A map keeps the order of insertion, so the oldest come first.
    for (const [oldest, { readAt }] of this.#entries) {
      if (this.#entries.size <= CAPACITY && now - readAt < TRUST_MS) break
      this.#entries.delete(oldest)
    }
  }

  stop(): void {
    this.#unlisten()
    this.#entries.clear()
  }
}
