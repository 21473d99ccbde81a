import { type IngestJob, isIngestJob } from '../shared/ingest/job.ts'
import { RECORD_STATUSES } from '../shared/protocol/heartbeat.ts'

/** Heartbeats of several jobs as one, in columns and sorted by monitor, for one transaction. Times are epoch ms. */
export interface Group {
  readonly size: number
  readonly monitorKeys: Float64Array
  readonly timestamps: Float64Array
  readonly receivedAt: Float64Array
  /** Index in RECORD_STATUSES. */
  readonly statuses: Uint8Array
  /** NaN where none was told. */
  readonly latencies: Float64Array
  /** Index in sourceIds. */
  readonly sources: Int32Array
  readonly sourceIds: string[]
  /** Of each source: did it come over a socket? */
  readonly bySocket: boolean[]
  /** Ids of runs, of the few rows that name one. */
  readonly rids: Map<number, string>
  readonly messages: Map<number, string>
  /** Rows of each monitor in the order of arrival, by ascending monitor key. */
  readonly rowsByMonitor: Map<number, number[]>
}

/** The days (epoch days, UTC) that a group touches. */
export function daysOf(group: Group): Set<number> {
  const days = new Set<number>()
  for (const timestamp of group.timestamps) days.add(Math.floor(timestamp / 86_400_000))
  return days
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

function rowFault(job: IngestJob, i: number): string | null {
  const whole = Number.isSafeInteger(job.m[i]) && Number.isSafeInteger(job.t[i]) && Number.isSafeInteger(job.r[i])
  if (!whole) return 'monitor, timestamp or receive time is no whole number'
  if (RECORD_STATUSES[job.s[i] ?? -1] === undefined) return 'unknown status'
  if (job.sources[job.x[i] ?? -1] === undefined) return 'unknown source'
  const latency = job.l[i]
  return latency !== null && !Number.isFinite(latency) ? 'latency is no number' : null
}

/** Why a job's data can never be written, or null. */
export function faultOf(data: unknown): string | null {
  if (!isIngestJob(data)) return 'not a job of a known version'
  if (!data.sources.every((source) => Array.isArray(source) && UUID.test(source[0]))) return 'a source is no id'
  if (!data.texts.every((text) => Array.isArray(text) && typeof text[1] === 'string')) return 'a message is no text'
  for (let i = 0; i < data.m.length; i++) {
    const fault = rowFault(data, i)
    if (fault !== null) return `row ${i}: ${fault}`
  }
  return null
}

function sortRows(monitorKeys: Float64Array): Map<number, number[]> {
  const unsorted = new Map<number, number[]>()
  for (let row = 0; row < monitorKeys.length; row++) {
    const key = monitorKeys[row] as number
    const rows = unsorted.get(key)
    if (rows === undefined) unsorted.set(key, [row])
    else rows.push(row)
  }
  return new Map([...unsorted].sort(([a], [b]) => a - b))
}

/** Puts sound jobs (`faultOf` is null) together. */
export function mergeJobs(jobs: readonly IngestJob[]): Group {
  const size = jobs.reduce((sum, job) => sum + job.m.length, 0)
  const monitorKeys = new Float64Array(size)
  const timestamps = new Float64Array(size)
  const receivedAt = new Float64Array(size)
  const statuses = new Uint8Array(size)
  const latencies = new Float64Array(size)
  const sources = new Int32Array(size)
  const sourceIds: string[] = []
  const bySocket: boolean[] = []
  const rids = new Map<number, string>()
  const messages = new Map<number, string>()
  let start = 0
  for (const job of jobs) {
    const firstSource = sourceIds.length
    for (const [sourceId, way] of job.sources) {
      sourceIds.push(sourceId)
      bySocket.push(way === 'socket')
    }
    for (const [row, rid] of job.rids ?? []) rids.set(start + row, rid)
    for (const [row, text] of job.texts) messages.set(start + row, text)
    monitorKeys.set(job.m, start)
    statuses.set(job.s, start)
    for (let i = 0; i < job.m.length; i++) {
      timestamps[start + i] = job.base + (job.t[i] as number)
      receivedAt[start + i] = job.base + (job.r[i] as number)
      latencies[start + i] = job.l[i] ?? Number.NaN
      sources[start + i] = firstSource + (job.x[i] as number)
    }
    start += job.m.length
  }
  return {
    size,
    monitorKeys,
    timestamps,
    receivedAt,
    statuses,
    latencies,
    sources,
    sourceIds,
    bySocket,
    rids,
    messages,
    rowsByMonitor: sortRows(monitorKeys)
  }
}
