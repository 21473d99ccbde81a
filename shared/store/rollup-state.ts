import type { Database, Queryable, Transaction } from '../db.ts'

/** How far the rollups are, epoch ms. */
export interface RollupState {
  closedUntil: number
  rolledUntil: number
  /** The pass under way: up to when, and which monitors are done; null between passes. */
  pass: { until: number; doneKey: number } | null
}

export async function readRollupState(db: Queryable): Promise<RollupState> {
  const [row] = await db.query<{
    closed_until: Date
    rolled_until: Date
    rolling_until: Date | null
    rolling_key: number
  }>('select closed_until, rolled_until, rolling_until, rolling_key from rollup_state')
  if (row === undefined) throw new Error('rollup_state has lost its row')
  // A worker of a version before passes, still there during an upgrade, rolls up beyond one without ending it.
  const isUnderWay = row.rolling_until !== null && row.rolling_until > row.rolled_until
  return {
    closedUntil: row.closed_until.getTime(),
    rolledUntil: row.rolled_until.getTime(),
    pass: isUnderWay ? { until: Number(row.rolling_until), doneKey: row.rolling_key } : null
  }
}

/** The same, and no other worker rolls up until this transaction ends; null when one does. */
export async function lockRollupState(tx: Transaction): Promise<RollupState | null> {
  const rows = await tx.query('select 1 from rollup_state for no key update skip locked')
  return rows.length === 0 ? null : readRollupState(tx)
}

/** Heartbeats before this time that are not written yet will be noted by who writes them. */
export async function closeBuckets(tx: Transaction, until: number): Promise<void> {
  await tx.query('update rollup_state set closed_until = $1', [new Date(until)])
}

/** Begins a pass, or moves it on to the monitors after `doneKey`. */
export async function movePass(tx: Transaction, { until, doneKey }: { until: number; doneKey: number }): Promise<void> {
  await tx.query('update rollup_state set rolling_until = $1, rolling_key = $2', [new Date(until), doneKey])
}

/** Ends the pass: everything before `until` is rolled up. */
export async function finishPass(tx: Transaction, until: number): Promise<void> {
  await tx.query('update rollup_state set rolled_until = $1, rolling_until = null, rolling_key = 0', [new Date(until)])
}

/** Resolves when every transaction that writes at this moment has ended; false when one takes longer than `tries`. */
export async function writersEnded(db: Database, tries: number, pause: () => Promise<void>): Promise<boolean> {
  const [begun] = await db.query<{ xmax: string }>('select pg_snapshot_xmax(pg_current_snapshot())::text as xmax')
  for (let i = 0; i < tries; i++) {
    const [now] = await db.query<{ ended: boolean }>(
      'select pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 as ended',
      [begun?.xmax]
    )
    if (now?.ended === true) return true
    await pause()
  }
  return false
}
