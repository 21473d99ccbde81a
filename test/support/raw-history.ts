import { randomUUID } from 'node:crypto'
import { RECORD_STATUSES, type RecordStatus } from '../../shared/protocol/heartbeat.ts'
import { createHeartbeatDays } from '../../shared/store/heartbeat-days.ts'
import { BUCKET_MS, type Rollup } from '../../shared/store/rollups.ts'
import type { Stores } from './ingest.ts'

/** A heartbeat put straight into the table; times in epoch ms. */
export interface RawBeat {
  timestamp: number
  status?: RecordStatus
  latency?: number | null
}

const DAY = BUCKET_MS['1d']

/** Puts heartbeats of one source into the table, past the worker, and makes the days for them. */
export async function putHeartbeats({ db }: Stores, key: number, beats: readonly RawBeat[]): Promise<void> {
  await createHeartbeatDays(db, new Set(beats.map(({ timestamp }) => Math.floor(timestamp / DAY))))
  await db.query(
    `insert into heartbeats (monitor_key, "timestamp", latency, received_at, source_id, organization_id, status)
     select m.key, u.at, u.latency, u.at, $5, m.organization_id, u.status
     from unnest($2::timestamptz[], $3::float8[], $4::smallint[]) as u (at, latency, status) join monitors m on m.key = $1`,
    [
      key,
      beats.map(({ timestamp }) => new Date(timestamp)),
      beats.map(({ latency = 1 }) => latency),
      beats.map(({ status = 'up' }) => RECORD_STATUSES.indexOf(status)),
      randomUUID()
    ]
  )
  // As the worker does.
  await db.query('update monitor_states set last_record_at = greatest(last_record_at, $2) where monitor_key = $1', [
    key,
    new Date(Math.max(0, ...beats.map(({ timestamp }) => timestamp)))
  ])
}

/** Makes the rollups begin at `from` (epoch ms), as if everything before had never been. */
export async function beginRollups({ db }: Stores, from: number): Promise<void> {
  await db.query('update rollup_state set closed_until = $1, rolled_until = $1, rolling_until = null', [new Date(from)])
}

/** What is rolled up of a monitor, oldest first. */
export async function rollupsOf({ db }: Stores, key: number, rollup: Rollup) {
  return db.query<{ at: Date; up: number; down: number; latency_n: number; latency_sum: number | null }>(
    `select at, up, down, degraded, started, logged, latency_n, latency_sum, latency_min, latency_max, latency_slots,
       latency_counts
     from rollups_${rollup} where monitor_key = $1 order by at`,
    [key]
  )
}

/** The organization of a monitor. */
export async function organizationOf({ db }: Stores, key: number): Promise<string> {
  const [row] = await db.query<{ organization_id: string }>('select organization_id from monitors where key = $1', [
    key
  ])
  return String(row?.organization_id)
}
