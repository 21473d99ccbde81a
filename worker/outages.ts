import type { Database, Transaction } from '../shared/db.ts'
import type { Outage } from '../shared/schedule/deadline.ts'
import {
  closeOutage,
  listOutages,
  lockAvailability,
  noteAvailability,
  openOutage,
  paintOutage,
  takeUnpainted
} from '../shared/store/ingest-outages.ts'
import type { Seen } from './watermark.ts'

/** No deadline reaches further back: an interval and a grace of a year each. */
const REMEMBERED_MS = 2 * 366 * 86_400_000
/** Agents and clients that kept what they could not send have done so by then. */
const PAINT_AFTER_MS = 120_000

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

/** Paints one span that ended a while ago as unknown; returns how many monitors it blinded, or null when none is left. */
export function paintNextOutage(db: Database, now: number): Promise<number | null> {
  return db.transaction(async (tx) => {
    const outage = await takeUnpainted(tx, new Date(now - PAINT_AFTER_MS))
    return outage === undefined ? null : paintOutage(tx, outage)
  })
}
