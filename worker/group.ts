import { type IngestJob, isIngestJob } from '../shared/ingest/job.ts'
import { RECORD_STATUSES } from '../shared/protocol/heartbeat.ts'

/**
 * Heartbeats of several jobs as one, in columns, for one transaction: monitor by monitor by ascending key, and those of a
 * monitor in the order of arrival. Times are epoch ms.
 */
export interface Group {
  readonly size: number
  /** Each monitor once. */
  readonly monitorKeys: Float64Array
  /** Where the rows of each monitor begin, which is where those of the one before end, and at last where all end. */
  readonly starts: Int32Array
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

/** Where every row goes, job after job, and what that makes of the group. */
function arrange(
  jobs: readonly IngestJob[],
  size: number
): Pick<Group, 'monitorKeys' | 'starts'> & { rows: Int32Array } {
  const found = new Map<number, number>()
  const counts: number[] = []
  const monitors = new Int32Array(size)
  let at = 0
  for (const job of jobs) {
    for (const key of job.m) {
      let monitor = found.get(key)
      if (monitor === undefined) {
        monitor = found.size
        found.set(key, monitor)
        counts.push(0)
      }
      counts[monitor] = (counts[monitor] as number) + 1
      monitors[at++] = monitor
    }
  }
  const monitorKeys = Float64Array.from(found.keys()).sort()
  const starts = new Int32Array(monitorKeys.length + 1)
  const next = new Int32Array(monitorKeys.length)
  for (let place = 0; place < monitorKeys.length; place++) {
    const monitor = found.get(monitorKeys[place] as number) as number
    next[monitor] = starts[place] as number
    starts[place + 1] = (starts[place] as number) + (counts[monitor] as number)
  }
  const rows = monitors.map((monitor) => {
    const row = next[monitor] as number
    next[monitor] = row + 1
    return row
  })
  return { monitorKeys, starts, rows }
}

/** Puts sound jobs (`faultOf` is null) together. */
export function mergeJobs(jobs: readonly IngestJob[]): Group {
  const size = jobs.reduce((sum, job) => sum + job.m.length, 0)
  const { monitorKeys, starts, rows } = arrange(jobs, size)
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
    for (const [i, rid] of job.rids ?? []) rids.set(rows[start + i] as number, rid)
    for (const [i, text] of job.texts) messages.set(rows[start + i] as number, text)
    for (let i = 0; i < job.m.length; i++) {
      const row = rows[start + i] as number
      timestamps[row] = job.base + (job.t[i] as number)
      receivedAt[row] = job.base + (job.r[i] as number)
      statuses[row] = job.s[i] as number
      latencies[row] = job.l[i] ?? Number.NaN
      sources[row] = firstSource + (job.x[i] as number)
    }
    start += job.m.length
  }
  return {
    size,
    monitorKeys,
    starts,
    timestamps,
    receivedAt,
    statuses,
    latencies,
    sources,
    sourceIds,
    bySocket,
    rids,
    messages
  }
}
