import type { Database, Queryable } from '../db.ts'

const MS_PER_DAY = 86_400_000
/** Any number will do, as long as nobody else uses it: makers of days take turns. */
const LOCK = 7_208_301
/** Attaching waits for vacuum and for others who change the table; not long, for writers of missing days wait behind it. */
const LOCK_TIMEOUT = '2s'

/** While a drop waits for readers, everybody else waits behind it. */
const DROP_LOCK_TIMEOUT = '250ms'

/** Epoch day (UTC) as `2026-11-21`. */
function dateOf(day: number): string {
  return new Date(day * MS_PER_DAY).toISOString().slice(0, 10)
}

function tableOf(day: number): string {
  return `heartbeats_${dateOf(day).replaceAll('-', '')}`
}

/** System-wide: the days (epoch days) that have a partition. */
export async function listHeartbeatDays(db: Queryable): Promise<Set<number>> {
  const rows = await db.query<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'heartbeats'::regclass`
  )
  const dates = rows.map(({ name }) => name.replace(/^heartbeats_(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3'))
  return new Set(dates.map((date) => Date.parse(`${date}T00:00:00Z`) / MS_PER_DAY))
}

/**
 * System-wide: makes the missing ones of these days. Safe with any number of processes at once. Each is made beside the
 * table and then attached: readers and writers of the other days go on, where `create table … partition of` would shut
 * them all out and itself wait for the longest reader. Fails with 55P03 when the table stays locked.
 */
export async function createHeartbeatDays(db: Database, days: Iterable<number>): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [LOCK])
    const existing = await listHeartbeatDays(tx)
    const missing = [...days].filter((day) => !existing.has(day))
    await tx.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`)
    for (const day of missing) {
      const table = tableOf(day)
      await tx.query(`create table ${table} (like heartbeats including all)`)
      await tx.query(
        `alter table heartbeats attach partition ${table} for values from ('${dateOf(day)} 00:00Z') to ('${dateOf(day + 1)} 00:00Z')`
      )
    }
    return missing.length
  })
}

/** The newest heartbeat of every monitor whose newest one lies in this day. */
const KEEP_LAST = `
  insert into last_heartbeats (monitor_key, organization_id, "timestamp", latency, received_at, source_id, status, message)
  select s.monitor_key, s.organization_id, h."timestamp", h.latency, h.received_at, h.source_id, h.status, h.message
  from monitor_states s cross join lateral (
    select * from heartbeats where monitor_key = s.monitor_key and "timestamp" >= $1 and "timestamp" < $2
    order by "timestamp" desc, source_id desc limit 1
  ) h
  where s.last_heartbeat_at < $2
  on conflict (monitor_key) do update set "timestamp" = excluded."timestamp", latency = excluded.latency,
    received_at = excluded.received_at, source_id = excluded.source_id, status = excluded.status, message = excluded.message
  where last_heartbeats."timestamp" < excluded."timestamp"`

/**
 * System-wide: keeps the last heartbeat of monitors that would have none left, and drops the day whole. For a moment nobody
 * reads or writes any day; who cannot have that moment soon gives way: fails with 55P03, and nothing is done.
 */
export async function dropHeartbeatDay(db: Database, day: number): Promise<void> {
  // Apart, because it takes its time and must not hold up anybody.
  await db.query(KEEP_LAST, [new Date(day * MS_PER_DAY), new Date((day + 1) * MS_PER_DAY)])
  await db.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [LOCK])
    await tx.query(`set local lock_timeout = '${DROP_LOCK_TIMEOUT}'`)
    await tx.query(`drop table if exists ${tableOf(day)}`)
  })
}
