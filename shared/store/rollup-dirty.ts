import type { Transaction } from '../db.ts'
import type { Span } from './rollups.ts'

/** Notes spans whose buckets are closed and have to be rolled up again. */
export async function insertDirtySpans(tx: Transaction, spans: readonly Span[]): Promise<void> {
  await tx.query(
    `insert into rollup_dirty (monitor_key, from_at, to_at)
     select * from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[])`,
    [
      spans.map(({ monitorKey }) => monitorKey),
      spans.map(({ from }) => new Date(from)),
      spans.map(({ to }) => new Date(to))
    ]
  )
}

/** Takes the oldest notes away: whoever does holds the lock of the state, and rolls these spans up in the same transaction. */
export async function takeDirtySpans(tx: Transaction, limit: number): Promise<Span[]> {
  const rows = await tx.query<{ monitor_key: number; from_at: Date; to_at: Date }>(
    `delete from rollup_dirty where id in (select id from rollup_dirty order by id limit $1)
     returning monitor_key, from_at, to_at`,
    [limit]
  )
  return rows.map((row) => ({ monitorKey: row.monitor_key, from: row.from_at.getTime(), to: row.to_at.getTime() }))
}
