import type { Queryable, Transaction } from '../db.ts'

/** A beginning or an end of a run. Times are epoch ms. */
export interface RunMark {
  monitorKey: number
  organizationId: string
  /** The id that the job gave to the run; '' for none. */
  rid: string
  startedAt: number | null
  endedAt: number | null
}

/** One mark a run and statement: the newest of either kind. */
function newestOf(marks: readonly RunMark[]): RunMark[] {
  const byRun = new Map<string, RunMark>()
  for (const mark of marks) {
    const key = `${mark.monitorKey} ${mark.rid}`
    const known = byRun.get(key)
    if (known === undefined) byRun.set(key, { ...mark })
    else {
      known.startedAt = Math.max(known.startedAt ?? 0, mark.startedAt ?? 0) || null
      known.endedAt = Math.max(known.endedAt ?? 0, mark.endedAt ?? 0) || null
    }
  }
  return [...byRun.values()]
}

const OPEN = "r.started_at > coalesce(r.ended_at, '-infinity') and r.hung_at is null"

/**
 * System-wide, in the transaction that holds the states' locks. Notes runs and what follows for the sweep: times only ever
 * grow, so it does not matter in which order marks come, or how often.
 */
export async function noteRuns(tx: Transaction, marks: readonly RunMark[]): Promise<void> {
  const newest = newestOf(marks)
  await tx.query(
    `insert into monitor_runs as r (monitor_key, rid, organization_id, started_at, ended_at)
     select u.monitor_key, u.rid, u.organization_id, to_timestamp(u.started / 1000), to_timestamp(u.ended / 1000)
     from unnest($1::bigint[], $2::text[], $3::uuid[], $4::float8[], $5::float8[])
       as u (monitor_key, rid, organization_id, started, ended)
     on conflict (monitor_key, rid) do update
     set started_at = greatest(r.started_at, excluded.started_at), ended_at = greatest(r.ended_at, excluded.ended_at),
       hung_at = case when excluded.started_at > r.started_at then null else r.hung_at end`,
    [
      newest.map(({ monitorKey }) => monitorKey),
      newest.map(({ rid }) => rid),
      newest.map(({ organizationId }) => organizationId),
      newest.map(({ startedAt }) => startedAt),
      newest.map(({ endedAt }) => endedAt)
    ]
  )
  await tx.query(
    `update monitor_states s
     set running = o.first is not null,
       check_at = case when s.state = 'paused' then s.check_at
         else least(s.check_at, o.first + m.max_runtime_seconds * interval '1 second') end
     from monitors m, lateral (select min(r.started_at) as first from monitor_runs r where r.monitor_key = m.key and ${OPEN}) o
     where m.key = any($1::bigint[]) and s.monitor_key = m.key`,
    [[...new Set(newest.map(({ monitorKey }) => monitorKey))]]
  )
}

/** System-wide: the open runs of these monitors that are not known to hang. */
export function listOpenRuns(
  db: Queryable,
  monitorKeys: readonly number[]
): Promise<Array<{ monitor_key: number; rid: string; started_at: Date }>> {
  return db.query(
    `select r.monitor_key, r.rid, r.started_at from monitor_runs r where r.monitor_key = any($1::bigint[]) and ${OPEN}`,
    [monitorKeys]
  )
}

/** System-wide, in the transaction that judged them. */
export async function noteHungRuns(
  tx: Transaction,
  runs: ReadonlyArray<{ monitorKey: number; rid: string }>,
  at: Date
): Promise<void> {
  const keys = runs.map(({ monitorKey }) => monitorKey)
  await tx.query(
    `update monitor_runs r set hung_at = $3 from unnest($1::bigint[], $2::text[]) as u (monitor_key, rid)
     where r.monitor_key = u.monitor_key and r.rid = u.rid`,
    [keys, runs.map(({ rid }) => rid), at]
  )
  await tx.query(
    `update monitor_states s set running = false where s.monitor_key = any($1::bigint[])
       and not exists (select from monitor_runs r where r.monitor_key = s.monitor_key and ${OPEN})`,
    [keys]
  )
}

/** System-wide: forgets runs that ended, or hang, since before `before`. */
export async function deleteOldRuns(db: Queryable, before: Date): Promise<void> {
  await db.query(`delete from monitor_runs r where greatest(r.started_at, r.ended_at) < $1 and not (${OPEN})`, [before])
}
