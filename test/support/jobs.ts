import type { IngestJob, WayIn } from '../../shared/ingest/job.ts'
import { RECORD_STATUSES, type RecordStatus } from '../../shared/protocol/heartbeat.ts'
import type { Stores } from './ingest.ts'
import { waitFor } from './wait-for.ts'

/** One heartbeat of a job, as the door would put it there. */
export interface JobRow {
  /** The monitor's key. */
  key: number
  sourceId: string
  /** Epoch ms. */
  timestamp: number
  /** Epoch ms; the timestamp when absent. */
  receivedAt?: number
  status?: RecordStatus
  latency?: number | null
  message?: string
  /** `http` when absent. */
  way?: WayIn
  rid?: string
}

/** A job of the ingest queue, for tests of what a worker does with one. */
export function jobOf(rows: readonly JobRow[]): IngestJob {
  const base = rows[0]?.timestamp ?? 0
  const job: IngestJob = { v: 1, base, sources: [], m: [], t: [], r: [], s: [], l: [], x: [], texts: [] }
  rows.forEach((one, row) => {
    const { key, sourceId, timestamp, receivedAt = timestamp, status = 'up', latency = 1 } = one
    job.x.push(job.sources.length)
    job.sources.push([sourceId, one.way ?? 'http'])
    job.m.push(key)
    job.t.push(timestamp - base)
    job.r.push(receivedAt - base)
    job.s.push(RECORD_STATUSES.indexOf(status))
    job.l.push(latency)
    if (one.message !== undefined) job.texts.push([row, one.message])
    if (one.rid !== undefined) job.rids = [...(job.rids ?? []), [row, one.rid]]
  })
  return job
}

/** Resolves when every job is either done or a dead letter; to the number of dead letters. */
export async function drained({ queue }: Stores, timeoutMs = 20_000): Promise<number> {
  const { failed } = await waitFor(
    async () => {
      const counts = await queue.counts()
      return counts.waiting + counts.active + counts.delayed === 0 && counts
    },
    { what: 'the queue is worked off', timeoutMs }
  )
  return failed
}

/** The key of a monitor, which never leaves the database but in jobs. */
export async function keyOf({ db }: Stores, monitorId: string): Promise<number> {
  const [row] = await db.query<{ key: number }>('select key from monitors where id = $1', [monitorId])
  if (row === undefined) throw new Error(`there is no monitor ${monitorId}`)
  return row.key
}

export interface StateRow {
  state: string
  state_reason: string
  state_since: Date
  last_heartbeat_at: Date | null
  last_source_id: string | null
  other_sources: Record<string, number>
}

/** What the worker keeps of a monitor. */
export async function stateOf({ db }: Stores, key: number): Promise<StateRow> {
  const [row] = await db.query<StateRow>(
    `select state, state_reason, state_since, last_heartbeat_at, last_source_id, other_sources from monitor_states where monitor_key = $1`,
    [key]
  )
  if (row === undefined) throw new Error(`monitor ${key} has no state`)
  return row
}

/** A monitor's transitions as `from to`, in the order in which they were written. */
export async function transitionsOf({ db }: Stores, key: number): Promise<string[]> {
  const rows = await db.query<{ step: string }>(
    `select from_state || ' ' || to_state as step from transitions where monitor_key = $1 order by id`,
    [key]
  )
  return rows.map(({ step }) => step)
}
