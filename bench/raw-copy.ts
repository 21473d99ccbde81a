import type { Database } from '../shared/db.ts'
import { createRowWriter } from './copy-rows.ts'
import { type FleetMonitor, readFleetMonitors } from './fleet.ts'
import { checkpoint } from './setup.ts'

/** The ceiling of the database: ready-made binary COPY streams into the product's own table, one connection. */

const MONITORS = 10_000
const UP = 1
/** Row header; key, time, latency, received_at, two uuids, status and an absent message with their lengths. */
const ROW_BYTES = 2 + 12 + 12 + 12 + 12 + 20 + 20 + 6 + 4
const COPY = `copy heartbeats
  (monitor_key, "timestamp", latency, received_at, source_id, organization_id, status, message)
  from stdin (format binary)`

function uuidBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

interface EncodedMonitor {
  key: number
  source: Buffer
  organization: Buffer
}

/** Group `group` of `rows` rows: monitors in turn, each a millisecond later in its next turn, as live heartbeats are. */
function encode(monitors: readonly EncodedMonitor[], group: number, rows: number, startMs: number): Buffer {
  const writer = createRowWriter(rows, ROW_BYTES)
  for (let i = 0; i < rows; i++) {
    const place = group * rows + i
    const { key, source, organization } = monitors[place % monitors.length] as EncodedMonitor
    const time = startMs + Math.floor(place / monitors.length)
    writer.row(8)
    writer.int8(key)
    writer.timestamp(time)
    writer.float8(23.5)
    writer.timestamp(time)
    writer.bytes(source)
    writer.bytes(organization)
    writer.int2(UP)
    writer.none()
  }
  return writer.finish()
}

function encodeMonitors(monitors: readonly FleetMonitor[]): EncodedMonitor[] {
  return monitors.map(({ key, agentId, organizationId }) => ({
    key,
    source: uuidBytes(agentId),
    organization: uuidBytes(organizationId)
  }))
}

/**
 * Rows a second of raw COPY in groups of `groupRows`, about `rows` in all, into the empty heartbeats table, which is emptied
 * again. Encoding is done before the clock starts.
 */
export async function measureRawCopy(db: Database, groupRows: number, rows: number): Promise<number> {
  const monitors = encodeMonitors(await readFleetMonitors(db, MONITORS))
  const startMs = Date.now()
  const groups = Array.from({ length: Math.ceil(rows / groupRows) }, (_, group) =>
    encode(monitors, group, groupRows, startMs)
  )
  await checkpoint(db)
  const began = performance.now()
  for (const group of groups) await db.transaction((tx) => tx.copyIn(COPY, group))
  const seconds = (performance.now() - began) / 1000
  await db.query('truncate heartbeats')
  return (groups.length * groupRows) / seconds
}
