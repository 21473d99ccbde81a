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
  readAt: number
  read: Read
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
  readonly #clock: () => number
  readonly #unlisten: () => void
  // Counts what was heard, so that a look-up that began before a revocation is not kept, nor believed, after it.
  #heard = 0

  constructor(changes: Changes, clock: () => number) {
    this.#clock = clock
    this.#unlisten = changes.listen((change) => this.#hear(change))
  }

  #hear(change: Change): void {
    if (change.type === 'agent_connected') return
    this.#heard++
    for (const [name, { caller }] of this.#entries) if (touches(change, caller)) this.#entries.delete(name)
  }

  async find(name: string, read: Read, trustMs = TRUST_MS): Promise<Caller | null> {
    const known = this.#entries.get(name)
    if (known !== undefined && this.#clock() - known.readAt < trustMs) return known.caller
    let caller: Caller | null
    let before: number
    do {
      before = this.#heard
      caller = await read()
    } while (before !== this.#heard)
    this.#entries.delete(name)
    if (caller !== null) this.#keep(name, { caller, readAt: this.#clock(), read })
    return caller
  }

  /** The caller as it is now, read anew at most once a second. */
  async refreshed(caller: Caller): Promise<Caller> {
    for (const [name, entry] of this.#entries) {
      if (entry.caller === caller) return (await this.find(name, entry.read, FRESH_MS)) ?? caller
    }
    return caller
  }

  #keep(name: string, entry: Entry): void {
    this.#entries.set(name, entry)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > CAPACITY && oldest !== undefined) this.#entries.delete(oldest)
  }

  stop(): void {
    this.#unlisten()
    this.#entries.clear()
  }
}
