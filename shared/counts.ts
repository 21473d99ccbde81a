import type { Log } from './log.ts'
import type { RedisClient } from './redis.ts'

/** How one key stands to a limit. */
export interface Standing {
  readonly limit: string
  /** Events that a window permits. */
  readonly points: number
  readonly remaining: number
  /** Whole seconds until the window ends, at least 1. */
  readonly secondsLeft: number
  /** This one was over the limit, so it was not counted. */
  readonly refused: boolean
}

export interface CountedLimit {
  /** Counts one event, unless the limit is reached. */
  take(key: string): Standing
  /** Counts nothing: `refused` says whether one more would be. */
  look(key: string): Standing
}

export interface Counts {
  /** `points` events of a key in each minute of the clock. */
  limit(name: string, points: number): CountedLimit
  stop(): Promise<void>
}

interface Options {
  client: RedisClient
  prefix: string
  log: Log
  /** Epoch ms. */
  clock: () => number
}

/** What is known of one key in the present window. */
interface Entry {
  /** By all processes, as far as they have told; what this one has told or is telling is in it. */
  known: number
  /** Of this process, not told yet. */
  fresh: number
}

const WINDOW_MS = 60_000
const REPORT_MS = 1000
/** A window that is over is kept for processes whose clock is behind. */
const KEPT_SECONDS = 120
/** Fields of one call, so that Redis serves others in between. */
const FIELDS_PER_CALL = 500
/** More keys than this in a minute are somebody's flood of addresses: those beyond pass uncounted rather than fill memory. */
const MAX_KEYS = 100_000

// ARGV: seconds to keep, then field and increment in turn. Answers the totals in that order.
const ADD = `
local totals = {}
for i = 2, #ARGV, 2 do
  totals[#totals + 1] = redis.call('hincrby', KEYS[1], ARGV[i], ARGV[i + 1])
end
redis.call('expire', KEYS[1], ARGV[1])
return totals`

/** The counts of one minute of the clock; with the next minute it is left behind whole. */
class Window {
  readonly number: number
  readonly entries = new Map<string, Entry>()
  readonly fresh = new Set<string>()

  constructor(number: number) {
    this.number = number
  }

  used(field: string): number {
    const entry = this.entries.get(field)
    return entry === undefined ? 0 : entry.known + entry.fresh
  }

  add(field: string): void {
    const entry = this.entries.get(field)
    if (entry !== undefined) entry.fresh++
    else if (this.entries.size < MAX_KEYS) this.entries.set(field, { known: 0, fresh: 1 })
    else return
    this.fresh.add(field)
  }

  /** What is to be told; from here on it counts as told. What Redis then does not take, the others never learn of. */
  takeFresh(): Array<[field: string, increment: number]> {
    const told: Array<[string, number]> = []
    for (const field of this.fresh) {
      const entry = this.entries.get(field)
      if (entry === undefined) continue
      told.push([field, entry.fresh])
      entry.known += entry.fresh
      entry.fresh = 0
    }
    this.fresh.clear()
    return told
  }

  learn(field: string, total: number): void {
    const entry = this.entries.get(field)
    if (entry !== undefined) entry.known = Math.max(entry.known, total)
  }
}

async function tell(client: RedisClient, key: string, window: Window): Promise<void> {
  const told = window.takeFresh()
  for (let from = 0; from < told.length; from += FIELDS_PER_CALL) {
    const part = told.slice(from, from + FIELDS_PER_CALL)
    // The script's answer: one number for each pair of its arguments.
    const totals = (await client.eval(ADD, 1, key, KEPT_SECONDS, ...part.flat())) as number[]
    for (const [place, [field]] of part.entries()) window.learn(field, totals[place] ?? 0)
  }
}

/**
 * Limits that all processes count together without a journey to Redis for each event, because there every write waits for
 * the disk: each process counts by itself and once a second tells what it counted and hears the totals, all keys in one
 * call. So a limit may be exceeded by what all processes take within a second, and by what one of them takes of a key
 * that it has not heard of yet. Windows are the minutes of the clock: twice the limit may pass around the end of one.
 * While Redis is away each process goes on counting for itself. (Libraries that count in Redis write once an event.)
 */
export function openCounts({ client, prefix, log, clock }: Options): Counts {
  let window = new Window(Math.floor(clock() / WINDOW_MS))
  let telling: Promise<void> | null = null
  let away = false

  function present(): Window {
    const number = Math.floor(clock() / WINDOW_MS)
    if (number !== window.number) window = new Window(number)
    return window
  }

  async function report(): Promise<void> {
    const told = present()
    try {
      await tell(client, `${prefix}:counts:${told.number}`, told)
      away = false
    } catch (error) {
      if (!away) log.warn({ err: error }, 'limits are counted by each process alone while Redis is away')
      away = true
    }
  }

  const timer = setInterval(() => {
    telling ??= report().finally(() => {
      telling = null
    })
  }, REPORT_MS)

  return {
    limit: (name, points) => {
      const stand = (key: string, counts: boolean): Standing => {
        const field = `${name} ${key}`
        const now = present()
        const used = now.used(field)
        const refused = used >= points
        if (counts && !refused) now.add(field)
        const remaining = Math.max(0, points - used - (counts ? 1 : 0))
        const leftMs = (now.number + 1) * WINDOW_MS - clock()
        return { limit: name, points, remaining, secondsLeft: Math.max(1, Math.ceil(leftMs / 1000)), refused }
      }
      return { take: (key) => stand(key, true), look: (key) => stand(key, false) }
    },
    stop: async () => {
      clearInterval(timer)
      await telling
    }
  }
}
