import type { HistoryRowAnswer, RollupRowAnswer } from '../../shared/contract/heartbeats.ts'
import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import type { RecordStatus } from '../../shared/protocol/heartbeat.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import { type HistoryRow, listHeartbeats } from '../../shared/store/heartbeats.ts'
import type { MonitorRow } from '../../shared/store/monitors.ts'
import { BUCKET_MS, ROLLUPS, type Rollup } from '../../shared/store/rollups.ts'
import { cutPage, readCursor, writeCursor } from '../http/cursor.ts'
import { type Bucket, bucketSpan, readBuckets } from './buckets.ts'
import type { Batch } from './export.ts'
import type { Window } from './window.ts'

export interface HistoryRequest {
  organizationId: string
  monitorId: string
  monitor: MonitorRow
  window: Window
  status: RecordStatus | null
  order: 'asc' | 'desc'
  now: number
}

/** After a heartbeat, or at a bucket of a layer. */
const CURSOR = /^(\d{1,15}\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(5m|1h|1d)\.\d{1,15})$/

/** The resolution that a cursor goes on with, null without a cursor. @throws AppError invalid_cursor */
export function resolutionOf(cursor: string | undefined): 'raw' | Rollup | null {
  const [first] = readCursor(cursor, CURSOR) ?? []
  if (first === undefined) return null
  return ROLLUPS.find((rollup) => rollup === first) ?? 'raw'
}

/** A heartbeat as the API shows it. */
export function toHistoryAnswer(monitorId: string, row: HistoryRow): HistoryRowAnswer {
  return {
    monitorId,
    status: row.status,
    latency: row.latency,
    timestamp: formatTimestamp(row.timestamp.getTime()),
    receivedAt: formatTimestamp(row.received_at.getTime()),
    source: row.source_id,
    message: row.message
  }
}

function toBucketAnswer(monitorId: string, { at, ...figures }: Bucket): RollupRowAnswer {
  return { monitorId, timestamp: formatTimestamp(at), ...figures }
}

async function readRaw(
  db: Queryable,
  request: HistoryRequest,
  cursor: string | undefined,
  limit: number
): Promise<Batch> {
  const { organizationId, monitorId, monitor, window, status, order } = request
  const place = readCursor(cursor, CURSOR)
  const rows = await listHeartbeats(db, {
    organizationId,
    monitorKey: monitor.key,
    from: window.from,
    to: window.to,
    status,
    order,
    after: place === null ? null : { timestamp: Number(place[0]), sourceId: String(place[1]) },
    limit: limit + 1
  })
  const { page, nextCursor } = cutPage(rows, limit, (last) => writeCursor(last.timestamp.getTime(), last.source_id))
  return { rows: page.map((row) => toHistoryAnswer(monitorId, row)), next: nextCursor }
}

async function readRollup(
  db: Queryable,
  request: HistoryRequest & { rollup: Rollup },
  cursor: string | undefined,
  limit: number
): Promise<Batch> {
  const { monitorId, window, order, rollup } = request
  const scope = { ...request, from: window.from, to: window.to }
  const span = await bucketSpan(db, scope)
  const length = limit * BUCKET_MS[rollup]
  const place = readCursor(cursor, CURSOR)
  const at = place === null ? null : Number(place[1])
  if (order === 'asc') {
    const begin = Math.max(span.begin, at ?? span.begin)
    const end = Math.min(span.end, begin + length)
    const buckets = await readBuckets(db, scope, begin, end)
    const next = end < span.end ? writeCursor(rollup, end) : null
    return { rows: buckets.map((bucket) => toBucketAnswer(monitorId, bucket)), next }
  }
  const end = Math.min(span.end, at ?? span.end)
  const begin = Math.max(span.begin, end - length)
  const buckets = (await readBuckets(db, scope, begin, end)).reverse()
  const next = begin > span.begin ? writeCursor(rollup, begin) : null
  return { rows: buckets.map((bucket) => toBucketAnswer(monitorId, bucket)), next }
}

/** One page of a monitor's history. @throws AppError invalid_cursor */
export function readHistory(
  db: Queryable,
  request: HistoryRequest,
  cursor: string | undefined,
  limit: number
): Promise<Batch> {
  const { resolution } = request.window
  const known = resolutionOf(cursor)
  if (known !== null && known !== resolution) {
    throw new AppError('invalid_cursor', { detail: 'The cursor is of another resolution.' })
  }
  if (resolution === 'raw') return readRaw(db, request, cursor, limit)
  return readRollup(db, { ...request, rollup: resolution }, cursor, limit)
}
