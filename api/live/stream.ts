import { setTimeout as wait } from 'node:timers/promises'
import { LIVE_KEPT_MS, type LiveEntry, lastLiveId, listenLive, readLive } from '../../shared/live.ts'
import type { Parts } from '../parts.ts'
import { Thinning } from './thinning.ts'

export interface Watch {
  organizationId: string
  /** Its heartbeats come in full; null: of none. */
  monitorId: string | null
  lastEventId: string | undefined
  /** May the caller still see it? */
  isAllowed(): Promise<boolean>
  /** The server stops. */
  signal: AbortSignal
}

const POLL_MS = 250
const COMMENT_MS = 15_000
const CHECK_MS = 30_000
const LISTEN_MS = 20_000
/** So long after a first listener came every worker has heard of it, and one has looked who is there. */
const COLD_MS = 3500
/** Before everything, where nothing has been told yet. */
const START = '0-0'
const PLACE = /^(\d{13})-(\d{1,6})\.(\d{1,5})$/
/** An index that no event has: all of the entry was told. */
const WHOLE = 99_999
const RESYNC = 'event: resync\ndata: {}\n\n'

function write(event: string, data: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

/** What is done again and again while a stream is open; when it was last done, by a clock that never jumps. */
class Pace {
  readonly #ms: number
  readonly #monotonic: () => number
  #last: number

  constructor(ms: number, monotonic: () => number) {
    this.#ms = ms
    this.#monotonic = monotonic
    this.#last = monotonic()
  }

  isDue(): boolean {
    const now = this.#monotonic()
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
async function placeOf(
  { redis, redisPrefix, clock }: Parts,
  { organizationId, lastEventId }: Watch
): Promise<{ place: Place; missed: boolean }> {
  const last = (await lastLiveId(redis.client, redisPrefix, organizationId)) ?? START
  const [, ms, count, index] = PLACE.exec(lastEventId ?? '') ?? []
  const [lastMs, lastCount] = last.split('-').map(Number) as [number, number]
  // A Redis that has lost the stream does not know the place.
  const isThere = Number(ms) < lastMs || (Number(ms) === lastMs && Number(count) <= lastCount)
  if (isThere && clock() - Number(ms) < LIVE_KEPT_MS) {
    return { place: { id: `${ms}-${count}`, told: Number(index) + 1 }, missed: false }
  }
  return { place: { id: last, told: null }, missed: lastEventId !== undefined }
}

/** The events of an entry that this watcher gets now, as text. */
function textOf({ id, events }: LiveEntry, from: number, watch: Watch, thinning: Thinning): string {
  let text = ''
  for (const [index, one] of events.entries()) {
    if (index < from) continue
    const passes = one.event !== 'heartbeat' || one.data.monitorId === watch.monitorId || thinning.passes(one.data)
    if (passes) text += write(one.event, one.data, `${id}.${index}`)
  }
  return text
}

/** One watcher: where it stands, and what it is told next. */
class Watcher {
  readonly #parts: Parts
  readonly #watch: Watch
  readonly #place: Place
  readonly #thinning = new Thinning()
  /** Null: workers tell of the organization already. */
  #cold: Pace | null

  constructor(parts: Parts, watch: Watch, place: Place, isWarm: boolean) {
    this.#parts = parts
    this.#watch = watch
    this.#place = place
    this.#cold = isWarm ? null : new Pace(COLD_MS, parts.monotonic)
  }

  async next(): Promise<string> {
    return (await this.#news()) + this.#resync()
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
    if (!this.#cold?.isDue()) return ''
    this.#cold = null
    return RESYNC
  }
}

/** Server-sent events of one organization, until the client leaves, the caller may no longer see them, or the server stops. */
export async function* streamLive(parts: Parts, watch: Watch): AsyncGenerator<string> {
  const { redis, redisPrefix: prefix, clock, monotonic } = parts
  const { organizationId, monitorId, signal } = watch
  const listen = () => listenLive(redis.client, prefix, organizationId, monitorId, clock())
  const isWarm = await listen()
  const { place, missed } = await placeOf(parts, watch)
  const watcher = new Watcher(parts, watch, place, isWarm)
  const [comment, check, again] = [COMMENT_MS, CHECK_MS, LISTEN_MS].map((ms) => new Pace(ms, monotonic)) as [
    Pace,
    Pace,
    Pace
  ]
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
