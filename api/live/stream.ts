import { setTimeout as wait } from 'node:timers/promises'
import { LIVE_KEPT_MS, type LiveEntry, lastLiveId, listenLive, readLive } from '../../shared/live.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import type { Parts } from '../parts.ts'
import { Thinning } from './thinning.ts'

export interface Watch {
  organizationId: string
  /** Its heartbeats come in full; null: of none. */
  monitorId: string | null
  lastEventId: string | undefined
  /** May the caller still see it? */
  isAllowed(): Promise<boolean>
  /** Presence of each agent. */
  presences(): Promise<ReadonlyMap<string, string>>
  /** The server stops. */
  signal: AbortSignal
}

const POLL_MS = 250
const COMMENT_MS = 15_000
const CHECK_MS = 30_000
const LISTEN_MS = 20_000
const PRESENCE_MS = 5000
/** So long after a first listener came every worker has heard of it. */
const COLD_MS = 2500
const PLACE = /^(\d{13}-\d{1,6})\.(\d{1,5})$/
/** An index that no event has: all of the entry was told. */
const WHOLE = 99_999
const RESYNC = 'event: resync\ndata: {}\n\n'

function write(event: string, data: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

/** What is done again and again while a stream is open; when it was last done, on the monotonic clock. */
class Pace {
  readonly #ms: number
  #last: number

  constructor(ms: number) {
    this.#ms = ms
    this.#last = performance.now()
  }

  isDue(): boolean {
    const now = performance.now()
    if (now - this.#last < this.#ms) return false
    this.#last = now
    return true
  }
}

interface Place {
  /** Of the last entry that was told, whole or in part. */
  id: string
  /** How many of its events were told; null: all. */
  told: number | null
}

/** Where to go on, and whether something may have been missed before it. */
async function placeOf({ redis, redisPrefix, clock }: Parts, { organizationId, lastEventId }: Watch) {
  const last = (await lastLiveId(redis.client, redisPrefix, organizationId)) ?? `${clock()}-0`
  const [, id, index] = PLACE.exec(lastEventId ?? '') ?? []
  if (id === undefined) return { place: { id: last, told: null } as Place, missed: lastEventId !== undefined }
  const isKept = clock() - Number.parseInt(id, 10) < LIVE_KEPT_MS
  if (!isKept) return { place: { id: last, told: null } as Place, missed: true }
  return { place: { id, told: Number(index) + 1 } as Place, missed: false }
}

/** The events of an entry that this watcher gets now, as text. */
function textOf({ id, events }: LiveEntry, from: number, watch: Watch, thinning: Thinning): string {
  let text = ''
  for (const [index, { event, data }] of events.entries()) {
    if (index < from) continue
    const passes = event !== 'heartbeat' || data.monitorId === watch.monitorId || thinning.passes(data)
    if (passes) text += write(event, data, `${id}.${index}`)
  }
  return text
}

/** One watcher: where it stands, and what it is told next. */
class Watcher {
  readonly #parts: Parts
  readonly #watch: Watch
  readonly #place: Place
  readonly #thinning = new Thinning()
  readonly #presencePace = new Pace(PRESENCE_MS)
  readonly #coldPace: Pace | null
  #cold: boolean
  /** Null: not told yet. */
  #known: ReadonlyMap<string, string> | null

  constructor(parts: Parts, watch: Watch, place: Place, cold: boolean, known: ReadonlyMap<string, string> | null) {
    this.#parts = parts
    this.#watch = watch
    this.#place = place
    this.#cold = cold
    this.#coldPace = cold ? new Pace(COLD_MS) : null
    this.#known = known
  }

  async next(): Promise<string> {
    return (await this.#news()) + this.#resync() + (await this.#presences())
  }

  async #news(): Promise<string> {
    const { redis, redisPrefix } = this.#parts
    const place = this.#place
    const from = { after: place.id, inclusive: place.told !== null }
    let text = ''
    for (const entry of await readLive(redis.client, redisPrefix, this.#watch.organizationId, from)) {
      text += textOf(entry, entry.id === place.id ? (place.told ?? 0) : 0, this.#watch, this.#thinning)
      place.id = entry.id
    }
    place.told = null
    return (
      text +
      this.#thinning
        .due()
        .map((data) => write('heartbeat', data))
        .join('')
    )
  }

  /** Workers begin to tell of an organization a moment after its first listener came. */
  #resync(): string {
    if (!this.#cold || !this.#coldPace?.isDue()) return ''
    this.#cold = false
    return RESYNC
  }

  async #presences(): Promise<string> {
    const known = this.#known
    if (known !== null && !this.#presencePace.isDue()) return ''
    const now = await this.#watch.presences()
    this.#known = now
    const at = formatTimestamp(this.#parts.clock())
    const changed = [...now].filter(([agentId, state]) => known?.get(agentId) !== state)
    return changed.map(([agentId, presence]) => write('presence', { agentId, presence, at })).join('')
  }
}

/** Server-sent events of one organization, until the client leaves, the caller may no longer see them, or the server stops. */
export async function* streamLive(parts: Parts, watch: Watch): AsyncGenerator<string> {
  const { redis, redisPrefix: prefix, clock } = parts
  const { organizationId, monitorId, lastEventId, signal } = watch
  const listen = () => listenLive(redis.client, prefix, organizationId, monitorId, clock())
  const isWarm = await listen()
  const { place, missed } = await placeOf(parts, watch)
  // Who comes back may have missed a change of presence, so all are told once.
  const known = lastEventId === undefined ? await watch.presences() : null
  const watcher = new Watcher(parts, watch, place, !isWarm, known)
  const [comment, check, again] = [new Pace(COMMENT_MS), new Pace(CHECK_MS), new Pace(LISTEN_MS)]
  yield `id: ${place.id}.${place.told === null ? WHOLE : place.told - 1}\nretry: 2000\n: open\n\n${missed ? RESYNC : ''}`
  while (!signal.aborted) {
    let text = await watcher.next()
    if (again.isDue()) await listen()
    if (check.isDue() && !(await watch.isAllowed())) return
    if (comment.isDue()) text += ': still here\n\n'
    if (text !== '') yield text
    await wait(POLL_MS, undefined, { signal }).catch(() => undefined)
  }
}
