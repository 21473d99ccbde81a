import type { Database, Transaction } from '../shared/db.ts'
import type { Outage } from '../shared/schedule/deadline.ts'
import {
  closeOutage,
  findUnpainted,
  listOutages,
  lockAvailability,
  lockMonitors,
  markPainted,
  noteAvailability,
  openOutage,
  paintOutage
} from '../shared/store/ingest-outages.ts'
import type { Seen } from './watermark.ts'

/** No deadline reaches further back: an interval and a grace of a year each. */
const REMEMBERED_MS = 2 * 366 * 86_400_000
/** Agents and clients that kept what they could not send have done so by then. */
const PAINT_AFTER_MS = 120_000
/** Monitors of one transaction: their heartbeats wait for it. */
const MONITORS = 500

async function note(tx: Transaction, { ingest, watermark }: Seen): Promise<void> {
  const before = await lockAvailability(tx)
  if (watermark === null) {
    if (before !== null) await openOutage(tx, before)
    return
  }
  const newest = Math.max(...ingest.stamps)
  const since = new Date(ingest.since ?? newest)
  const closed = await closeOutage(tx, since)
  // Nobody was there to see it begin: the workers were away as well.
  if (!closed && before !== null && since > before) {
    await openOutage(tx, before)
    await closeOutage(tx, since)
  }
  await noteAvailability(tx, new Date(newest), new Date(watermark))
}

/** Keeps the spans in which no heartbeat could get in, and returns those that are over. */
export async function keepOutages(db: Database, seen: Seen, now: number): Promise<Outage[]> {
  await db.transaction((tx) => note(tx, seen))
  const rows = await listOutages(db, new Date(now - REMEMBERED_MS))
  return rows.map(({ began_at, ended_at }) => ({ from: began_at.getTime(), to: ended_at.getTime() }))
}

/**
 * Paints one span that ended a while ago as unknown; returns how many monitors it blinded, or null when none is left. All
 * that was received before `watermark` (epoch ms) is written by now. Who writes heartbeats of a monitor at this moment is
 * waited for, and who does so afterwards sees the span: otherwise it would stay unknown though they tell of it.
 */
export async function paintNextOutage(db: Database, watermark: number): Promise<number | null> {
  const outage = await findUnpainted(db, new Date(watermark - PAINT_AFTER_MS))
  if (outage === undefined) return null
  let blinded = 0
  for (let after: number | undefined = 0; after !== undefined; ) {
    after = await db.transaction(async (tx) => {
      const keys = await lockMonitors(tx, after ?? 0, MONITORS)
      blinded += await paintOutage(tx, outage, keys)
      return keys.at(-1)
    })
  }
  await markPainted(db, outage, new Date(watermark))
  return blinded
}
