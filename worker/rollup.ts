import { setTimeout as pause } from 'node:timers/promises'
import type { Database, Transaction } from '../shared/db.ts'
import type { Log } from '../shared/log.ts'
import {
  BUCKET_MS,
  closeBuckets,
  finishBuckets,
  listMonitorKeys,
  lockRollupState,
  type Rollup,
  readRollupState,
  type Span,
  takeDirtySpans,
  writeRollups,
  writersEnded
} from '../shared/store/rollups.ts'

/** A bucket is closed this long after its end: most of its heartbeats are there by then, and need no second pass. */
const CLOSE_AFTER_MS = 15_000
const ROUND_MS = 10_000
/** Monitors of one statement. */
const MONITORS = 2000
/** Most that is rolled up in one transaction when much is to be caught up. */
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

/** The same span of every monitor. */
async function writeAll(tx: Transaction, rollup: Rollup, from: number, to: number): Promise<void> {
  if (from >= to) return
  for (let after = 0; ; ) {
    const keys = await listMonitorKeys(tx, after, MONITORS)
    const last = keys.at(-1)
    if (last === undefined) return
    await writeRollups(
      tx,
      rollup,
      keys.map((monitorKey) => ({ monitorKey, from, to }))
    )
    after = last
  }
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

/** Rolls up closed buckets, and of the coarser layers those that are over with them. Returns whether more is left. */
function rollUpClosed(db: Database, closedUntil: number): Promise<boolean> {
  return db.transaction(async (tx) => {
    const state = await lockRollupState(tx)
    if (state === null || state.rolledUntil >= closedUntil) return false
    const from = state.rolledUntil
    const to = Math.min(closedUntil, from + LONGEST_MS)
    await writeAll(tx, '5m', from, to)
    await writeAll(tx, '1h', floorTo('1h', from), floorTo('1h', to))
    await writeAll(tx, '1d', floorTo('1d', from), floorTo('1d', to))
    await finishBuckets(tx, to)
    return to < closedUntil
  })
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
    if (state === null) return false
    const spans = await takeDirtySpans(tx, SPANS)
    for (const rollup of ['5m', '1h', '1d'] as const) {
      const merged = mergeSpans(spans, rollup, state.rolledUntil)
      if (merged.length > 0) await writeRollups(tx, rollup, merged)
    }
    return spans.length === SPANS
  })
}

/**
 * One round: closes what is over, rolls it up, and rolls up again what late heartbeats fell into. Any number of workers may
 * do it at once; one does the work. Doing it again changes nothing.
 */
export async function rollUp(deps: Deps, goOn: () => boolean = () => true): Promise<void> {
  const closedUntil = await close(deps)
  // A writer that read the closing before this one notes nothing, so it must be done before its bucket is read.
  if (await writersEnded(deps.db, WAIT_TRIES, () => pause(WAIT_MS))) {
    while (goOn() && (await rollUpClosed(deps.db, closedUntil)));
  }
  while (goOn() && (await rollUpLate(deps.db)));
}

/** Rolls up every ten seconds until stopped. */
export function startRollups({ db, clock, log }: Deps & { log: Log }): { stop(): Promise<void> } {
  let stopped = false
  let running = Promise.resolve()
  let timer = setTimeout(round, ROUND_MS)

  async function once(): Promise<void> {
    try {
      await rollUp({ db, clock }, () => !stopped)
    } catch (error) {
      log.warn({ err: error, againMs: ROUND_MS }, 'history could not be rolled up')
    }
    if (!stopped) timer = setTimeout(round, ROUND_MS)
  }

  function round(): void {
    running = once()
  }

  return {
    stop: () => {
      stopped = true
      clearTimeout(timer)
      return running
    }
  }
}
