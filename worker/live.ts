import type { Database } from '../shared/db.ts'
import { appendLive, type LiveEvent, readListened, stateEvent } from '../shared/live.ts'
import type { Log } from '../shared/log.ts'
import { RECORD_STATUSES } from '../shared/protocol/heartbeat.ts'
import { formatTimestamp } from '../shared/protocol/timestamp.ts'
import type { RedisClient } from '../shared/redis.ts'
import { listMonitorNames, listMonitorNamesOf } from '../shared/store/live-monitors.ts'
import type { NotedTransition } from '../shared/store/outbox.ts'
import type { Group } from './group.ts'

interface Deps {
  db: Database
  client: RedisClient
  prefix: string
  log: Log
  /** Epoch ms. */
  clock: () => number
}

interface Monitor {
  id: string
  organizationId: string
}

const LISTEN_MS = 1000
/** Keys are given before their commit, so the newest are asked for again. */
const KEY_OVERLAP = 1000
/**
 * Heartbeats of one organization in one group, besides those of monitors that somebody named: a stream is kept for minutes
 * in a Redis that must not fill up.
 */
const MAX_HEARTBEATS = 500

/** Tells people who watch what was committed, and costs nothing while nobody does. Failures are logged and forgotten. */
export class LivePublisher {
  readonly #deps: Deps
  readonly #timer: NodeJS.Timeout
  #listened: ReadonlyMap<string, ReadonlySet<string>> = new Map()
  #monitors = new Map<number, Monitor>()
  #newestKey = 0
  #known = ''
  #learning: Promise<void> | null = null
  #sending = new Set<Promise<void>>()
  #away = false

  constructor(deps: Deps) {
    this.#deps = deps
    this.#timer = setInterval(() => {
      this.#learning ??= this.#guard(() => this.#learn()).finally(() => {
        this.#learning = null
      })
    }, LISTEN_MS)
  }

  /** After the commit of a group. Returns at once. */
  published(group: Group, transitions: readonly NotedTransition[]): void {
    if (this.#listened.size === 0) return
    const events = this.#heartbeats(group)
    this.#begin(async () => {
      for (const [organizationId, states] of await this.#states(transitions)) {
        events.set(organizationId, [...(events.get(organizationId) ?? []), ...states])
      }
      await this.#append(events)
    })
  }

  /** After the commit of state changes that no heartbeat made. Returns at once. */
  changed(transitions: readonly NotedTransition[]): void {
    if (this.#listened.size === 0 || transitions.length === 0) return
    this.#begin(async () => this.#append(await this.#states(transitions)))
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#learning
    await Promise.all(this.#sending)
  }

  #begin(work: () => Promise<void>): void {
    const running = this.#guard(work).finally(() => this.#sending.delete(running))
    this.#sending.add(running)
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work()
      this.#away = false
    } catch (error) {
      if (!this.#away) this.#deps.log.warn({ err: error }, 'what happens is not told to who watches')
      this.#away = true
    }
  }

  async #append(events: ReadonlyMap<string, LiveEvent[]>): Promise<void> {
    const { client, prefix, clock } = this.#deps
    const appended = [...events].map(([organizationId, list]) =>
      appendLive(client, prefix, organizationId, list, clock())
    )
    await Promise.all(appended)
  }

  /** Who is listened to now, and the public ids of their monitors. */
  async #learn(): Promise<void> {
    const { client, prefix, clock, db } = this.#deps
    const listened = await readListened(client, prefix, clock())
    const organizationIds = [...listened.keys()].sort()
    const known = organizationIds.join()
    if (known !== this.#known) {
      this.#monitors = new Map()
      this.#newestKey = 0
    }
    const after = Math.max(0, this.#newestKey - KEY_OVERLAP)
    const rows = organizationIds.length === 0 ? [] : await listMonitorNamesOf(db, organizationIds, after)
    for (const { key, id, organization_id: organizationId } of rows) {
      this.#monitors.set(key, { id, organizationId })
      this.#newestKey = Math.max(this.#newestKey, key)
    }
    this.#known = known
    this.#listened = listened
  }

  async #states(transitions: readonly NotedTransition[]): Promise<Map<string, LiveEvent[]>> {
    const states = new Map<string, LiveEvent[]>()
    const told = transitions.filter(({ organizationId }) => this.#listened.has(organizationId))
    const unknown = told.map(({ monitorKey }) => monitorKey).filter((key) => !this.#monitors.has(key))
    const rows = unknown.length === 0 ? [] : await listMonitorNames(this.#deps.db, unknown)
    const names = new Map(rows.map(({ key, id }) => [key, id]))
    for (const transition of told) {
      const { monitorKey, organizationId } = transition
      const monitorId = this.#monitors.get(monitorKey)?.id ?? names.get(monitorKey)
      if (monitorId === undefined) continue
      states.set(organizationId, [...(states.get(organizationId) ?? []), stateEvent(monitorId, transition)])
    }
    return states
  }

  /** All heartbeats of monitors that somebody named, of the others the newest. */
  #heartbeats(group: Group): Map<string, LiveEvent[]> {
    const events = new Map<string, LiveEvent[]>()
    for (const [place, key] of group.monitorKeys.entries()) {
      const monitor = this.#monitors.get(key)
      if (monitor === undefined) continue
      const from = group.starts[place] as number
      const to = group.starts[place + 1] as number
      const named = this.#listened.get(monitor.organizationId)?.has(monitor.id) === true
      const list = events.get(monitor.organizationId) ?? []
      if (!named && list.length >= MAX_HEARTBEATS) continue
      for (let row = named ? from : to - 1; row < to; row++) list.push(toEvent(group, monitor.id, row))
      events.set(monitor.organizationId, list)
    }
    return events
  }
}

/** As a row of the history. */
function toEvent(group: Group, monitorId: string, row: number): LiveEvent {
  const latency = group.latencies[row] as number
  return {
    event: 'heartbeat',
    data: {
      monitorId,
      status: RECORD_STATUSES[group.statuses[row] as number],
      latency: Number.isNaN(latency) ? null : latency,
      timestamp: formatTimestamp(group.timestamps[row] as number),
      receivedAt: formatTimestamp(group.receivedAt[row] as number),
      source: group.sourceIds[group.sources[row] as number],
      message: group.messages.get(row) ?? null
    }
  }
}
