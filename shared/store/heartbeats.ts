import type { Queryable } from '../db.ts'
import { RECORD_STATUSES, type RecordStatus } from '../protocol/heartbeat.ts'

/** A row of history. Its status is stored as the index in RECORD_STATUSES. */
export interface HistoryRow {
  status: RecordStatus
  latency: number | null
  timestamp: Date
  received_at: Date
  source_id: string
  message: string | null
}

export interface HistoryPage {
  organizationId: string
  monitorKey: number
  /** Window [from, to), epoch ms. */
  from: number
  to: number
  status: RecordStatus | null
  order: 'asc' | 'desc'
  /** What the page before ended with. */
  after: { timestamp: number; sourceId: string } | null
  limit: number
}

/**
 * One page of a monitor's history, by time and source. Runs along the primary key in either direction; the days outside
 * the window are not touched (partition pruning).
 */
export async function listHeartbeats(db: Queryable, page: HistoryPage): Promise<HistoryRow[]> {
  const [beyond, direction] = page.order === 'asc' ? ['>', 'asc'] : ['<', 'desc']
  const rows = await db.query<StoredRow>(
    `select status, latency, "timestamp", received_at, source_id, message from heartbeats
     where organization_id = $1 and monitor_key = $2 and "timestamp" >= $3 and "timestamp" < $4
       and ($5::smallint is null or status = $5)
       and ($6::timestamptz is null or ("timestamp", source_id) ${beyond} ($6, $7::uuid))
     order by "timestamp" ${direction}, source_id ${direction} limit $8`,
    [
      page.organizationId,
      page.monitorKey,
      new Date(page.from),
      new Date(page.to),
      page.status === null ? null : RECORD_STATUSES.indexOf(page.status),
      page.after === null ? null : new Date(page.after.timestamp),
      page.after?.sourceId ?? null,
      page.limit
    ]
  )
  return rows.map(toHistoryRow)
}

type StoredRow = Omit<HistoryRow, 'status'> & { status: number }

function toHistoryRow(row: StoredRow): HistoryRow {
  // The column only ever receives an index of that list.
  return { ...row, status: RECORD_STATUSES[row.status] as RecordStatus }
}

/** The newest heartbeat of a monitor by its time, though its day be dropped long ago. */
export async function findLastHeartbeat(
  db: Queryable,
  organizationId: string,
  monitorKey: number
): Promise<HistoryRow | undefined> {
  for (const table of ['heartbeats', 'last_heartbeats']) {
    const [row] = await db.query<StoredRow>(
      `select status, latency, "timestamp", received_at, source_id, message from ${table}
       where organization_id = $1 and monitor_key = $2 order by "timestamp" desc, source_id desc limit 1`,
      [organizationId, monitorKey]
    )
    if (row !== undefined) return toHistoryRow(row)
  }
  return undefined
}
