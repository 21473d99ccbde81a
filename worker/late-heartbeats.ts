import type { Transaction } from '../shared/db.ts'
import { insertDirtySpans } from '../shared/store/rollup-dirty.ts'
import { readRollupState } from '../shared/store/rollup-state.ts'
import { BUCKET_MS, type Span } from '../shared/store/rollups.ts'
import type { Group } from './group.ts'

const STEP = BUCKET_MS['5m']

/** For each monitor the buckets from its oldest to its newest heartbeat before `closedUntil` (epoch ms). */
export function lateSpans(group: Group, closedUntil: number): Span[] {
  const spans: Span[] = []
  group.monitorKeys.forEach((monitorKey, place) => {
    let first = Number.POSITIVE_INFINITY
    let last = Number.NEGATIVE_INFINITY
    for (let row = group.starts[place] as number; row < (group.starts[place + 1] as number); row++) {
      const timestamp = group.timestamps[row] as number
      if (timestamp >= closedUntil) continue
      if (timestamp < first) first = timestamp
      if (timestamp > last) last = timestamp
    }
    if (last < first) return
    spans.push({ monitorKey, from: Math.floor(first / STEP) * STEP, to: (Math.floor(last / STEP) + 1) * STEP })
  })
  return spans
}

/**
 * Notes what of the group lies in buckets that were rolled up already, or may be at this moment. Nearly every group has
 * nothing of the kind and costs one look at one row. To be called when the transaction has written something: buckets are
 * rolled up only when every transaction that had begun to write before they were closed has ended.
 */
export async function noteLateHeartbeats(tx: Transaction, group: Group): Promise<void> {
  const { closedUntil } = await readRollupState(tx)
  const spans = lateSpans(group, closedUntil)
  if (spans.length > 0) await insertDirtySpans(tx, spans)
}
