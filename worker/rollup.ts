import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../shared/db.ts'
import type { Log } from '../shared/log.ts'
import { takeDirtySpans } from '../shared/store/rollup-dirty.ts'
import {
  closeBuckets,
  finishPass,
  lockRollupState,
  movePass,
  readRollupState,
  writersEnded
} from '../shared/store/rollup-state.ts'
import {
  BUCKET_MS,
  listRecentMonitorKeys,
  ROLLUPS,
  type Rollup,
  type Span,
  writeRollups
} from '../shared/store/rollups.ts'

/** A bucket is closed this long after its end: most of its heartbeats are there by then, and need no second pass. */
const CLOSE_AFTER_MS = 15_000
const ROUND_MS = 10_000
/** Monitors of the first transaction of a pass; then as many as take about this long, so that none stays open for long. */
const FIRST_MONITORS = 100
const MOST_MONITORS = 5000
const TRANSACTION_MS = 100
/** Rests so many times as long as it worked: what is read meanwhile comes from the heartbeats themselves. */
const REST = 3
/** Once so far behind it does not rest. */
const BEHIND_MS = 3 * BUCKET_MS['5m']
/** Most that is rolled up in one pass when much is to be caught up. */
const LONGEST_MS = 6 * BUCKET_MS['1h']
/** Late spans of one transaction. */
const SPANS = 1000
/** How often and how long is waited for writers that began before the closing. */
const WAIT_TRIES = 100
const WAIT_MS = 50

interface Deps {
  db: Database
  clock: () => number
}

function floorTo(rollup: Rollup, at: number): number {
  return Math.floor(at / BUCKET_MS[rollup]) * BUCKET_MS[rollup]
}

/** Closes the buckets that are over. Who writes into them from now on says so. Returns up to when all are closed. */
async function close({ db, clock }: Deps): Promise<number> {
  const until = floorTo('5m', clock() - CLOSE_AFTER_MS)
  await db.transaction(async (tx) => {
    const state = await lockRollupState(tx)
    if (state !== null && state.closedUntil < until) await closeBuckets(tx, until)
  })
  return (await readRollupState(db)).closedUntil
}

/** The buckets of each layer that are over with a pass, the finest first, and when the first of them begins. */
function layersOf(from: number, to: number) {
  const layers = ROLLUPS.map((rollup) => ({ rollup, from: floorTo(rollup, from), to: floorTo(rollup, to) }))
  const over = layers.filter((layer) => layer.from < layer.to)
  return { layers: over, since: Math.min(...over.map((layer) => layer.from)) }
}

/** Rolls up closed buckets of the next monitors of the pass, or begins one. Returns what is left for the next step. */
function step(db: Database, closedUntil: number, limit: number): Promise<'more' | 'done'> {
  return db.transaction(async (tx) => {
    const state = await lockRollupState(tx)
    if (state === null) return 'done'
    const from = state.rolledUntil
    const pass = state.pass ?? { until: Math.min(closedUntil, from + LONGEST_MS), doneKey: 0 }
    if (from >= pass.until) return 'done'
    const { layers, since } = layersOf(from, pass.until)
    const keys = await listRecentMonitorKeys(tx, { after: pass.doneKey, since, limit })
    for (const { rollup, ...span } of layers) {
      await writeRollups(
        tx,
        rollup,
        keys.map((monitorKey) => ({ monitorKey, ...span }))
      )
    }
    const last = keys.at(-1)
    if (last !== undefined && keys.length === limit) await movePass(tx, { until: pass.until, doneKey: last })
    else await finishPass(tx, pass.until)
    return 'more'
  })
}

/**
 * Rolls up what is closed, monitor by monitor: a transaction that stays open keeps PostgreSQL from reusing the room of rows
 * that are updated meanwhile.
 */
async function rollUpClosed({ db, clock }: Deps, closedUntil: number, { goOn, rest }: Pace): Promise<void> {
  for (let limit = FIRST_MONITORS; goOn(); ) {
    const began = performance.now()
    if ((await step(db, closedUntil, limit)) === 'done') return
    const tookMs = performance.now() - began
    limit = Math.round(Math.min(MOST_MONITORS, Math.max(1, (limit * TRANSACTION_MS) / tookMs)))
    const { rolledUntil } = await readRollupState(db)
    if (clock() - rolledUntil < BEHIND_MS) await rest(REST * tookMs)
  }
}

/** Spans as buckets of a layer, those that touch or share one made one, and cut where the layer ends. */
export function mergeSpans(spans: readonly Span[], rollup: Rollup, end: number): Span[] {
  const merged: Span[] = []
  const sorted = [...spans].sort((a, b) => a.monitorKey - b.monitorKey || a.from - b.from)
  for (const { monitorKey, ...span } of sorted) {
    const from = floorTo(rollup, span.from)
    const to = Math.min(floorTo(rollup, end), floorTo(rollup, span.to + BUCKET_MS[rollup] - 1))
    if (from >= to) continue
    const last = merged.at(-1)
    if (last?.monitorKey === monitorKey && from <= last.to) last.to = Math.max(last.to, to)
    else merged.push({ monitorKey, from, to })
  }
  return merged
}

/** Rolls up again what late heartbeats fell into. Returns whether more is left. */
function rollUpLate(db: Database): Promise<boolean> {
  return db.transaction(async (tx) => {
    const state = await lockRollupState(tx)
    // Within a pass nobody could tell whether a span was rolled up already.
    if (state === null || state.pass !== null) return false
    const spans = await takeDirtySpans(tx, SPANS)
    for (const rollup of ROLLUPS) await writeRollups(tx, rollup, mergeSpans(spans, rollup, state.rolledUntil))
    return spans.length === SPANS
  })
}

/** When to stop, and how to rest (ms) between two transactions. */
interface Pace {
  goOn(): boolean
  rest(ms: number): Promise<void>
}

const AT_ONCE: Pace = { goOn: () => true, rest: async () => undefined }

/**
 * One round: closes what is over, rolls it up, and rolls up again what late heartbeats fell into. Any number of workers may
 * do it at once: they take turns. Doing it again changes nothing.
 */
export async function rollUp(deps: Deps, pace: Pace = AT_ONCE): Promise<void> {
  const closedUntil = await close(deps)
  // A writer that read the closing before this one notes nothing, so it must be done before its bucket is read.
  if (await writersEnded(deps.db, WAIT_TRIES, () => pause(WAIT_MS))) await rollUpClosed(deps, closedUntil, pace)
  while (pace.goOn() && (await rollUpLate(deps.db)));
}

/** Rolls up every ten seconds until stopped. */
export function startRollups({ db, clock, log }: Deps & { log: Log }): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const pace: Pace = {
    goOn: () => !signal.aborted,
    // Aborted by the stop alone, which ends the round as well.
    rest: (ms) => pause(ms, undefined, { signal }).catch(() => undefined)
  }

  async function rounds(): Promise<void> {
    for (await pace.rest(ROUND_MS); pace.goOn(); await pace.rest(ROUND_MS)) {
      try {
        await rollUp({ db, clock }, pace)
      } catch (error) {
        log.warn({ err: error, againMs: ROUND_MS }, 'history could not be rolled up')
      }
    }
  }

  const running = rounds()
  return {
    stop: () => {
      stopping.abort()
      return running
    }
  }
}
