import {
  EXPORT_FORMATS,
  type ExportFormat,
  type HistoryRowAnswer,
  type RollupRowAnswer,
  TIMED_STATES
} from '../../shared/contract/heartbeats.ts'
import { RECORD_STATUSES } from '../../shared/protocol/heartbeat.ts'

export type ExportRow = HistoryRowAnswer | RollupRowAnswer

/** One read of a source: some rows, and where the next read goes on, null at the end. */
export interface Batch {
  rows: ExportRow[]
  next: string | null
}

const TYPES: Readonly<Record<string, ExportFormat>> = {
  'text/csv': 'csv',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/json': 'json',
  '*/*': 'json'
}

/** What an Accept header asks for: the known type with the greatest weight, the first of several; JSON when none is known. */
export function acceptedFormat(accept: string | undefined): ExportFormat {
  let [best, weight]: [ExportFormat, number] = [EXPORT_FORMATS[0], 0]
  for (const part of (accept ?? '').split(',')) {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const format = TYPES[type]
    const q = parameters.find((text) => text.startsWith('q='))
    const own = q === undefined ? 1 : Number(q.slice(2))
    if (format !== undefined && own > weight) [best, weight] = [format, own]
  }
  return best
}

type Cell = string | number | null

/** Spreadsheets take a text that begins like this for a formula, and messages come from strangers. */
const FORMULA = /^[=+\-@\t\r]/

function cellOf(value: Cell): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** RFC 4180. */
function lineOf(cells: readonly Cell[]): string {
  return `${cells.map(cellOf).join(',')}\r\n`
}

const RAW_HEAD = ['monitorId', 'timestamp', 'status', 'latency', 'receivedAt', 'source', 'message']
const LATENCIES = ['count', 'mean', 'min', 'max', 'p50', 'p95', 'p99'] as const
const BUCKET_HEAD = [
  'monitorId',
  'timestamp',
  'uptime',
  ...RECORD_STATUSES.map((status) => `heartbeats.${status}`),
  ...TIMED_STATES.map((state) => `seconds.${state}`),
  ...LATENCIES.map((name) => `latency.${name}`)
]

function rowCells(row: ExportRow): Cell[] {
  if ('status' in row) {
    return [row.monitorId, row.timestamp, row.status, row.latency, row.receivedAt, row.source, row.message]
  }
  return [
    row.monitorId,
    row.timestamp,
    row.uptime,
    ...RECORD_STATUSES.map((status) => row.heartbeats[status]),
    ...TIMED_STATES.map((state) => row.seconds[state]),
    ...LATENCIES.map((name) => row.latency?.[name] ?? null)
  ]
}

interface Export {
  format: 'csv' | 'ndjson'
  /** Are the rows single heartbeats? */
  raw: boolean
  first: Batch
  read(next: string): Promise<Batch>
}

function write(format: Export['format'], rows: readonly ExportRow[]): string {
  if (format === 'ndjson') return rows.map((row) => `${JSON.stringify(row)}\n`).join('')
  return rows.map((row) => lineOf(rowCells(row))).join('')
}

/** All batches as text, one at a time: the next is read when the last was taken, and never when nobody takes it. */
export async function* exportRows({ format, raw, first, read }: Export): AsyncGenerator<string, void> {
  if (format === 'csv') yield lineOf(raw ? RAW_HEAD : BUCKET_HEAD)
  for (let batch = first; ; ) {
    if (batch.rows.length > 0) yield write(format, batch.rows)
    if (batch.next === null) return
    batch = await read(batch.next)
  }
}
