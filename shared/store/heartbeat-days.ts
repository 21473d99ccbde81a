import type { Database, Queryable } from '../db.ts'

const MS_PER_DAY = 86_400_000
/** Any numbers will do, as long as nobody else uses them. Who makes or drops tables of days takes turns. */
const LOCK = 7_208_301
/** One at a time takes days out of the table. */
const LEAVING_LOCK = 7_208_302
/** Making a day waits for vacuum and for who still sees it on its way out; not long, for writers of missing days wait behind. */
const LOCK_TIMEOUT = '2s'

/** Epoch day (UTC) as `2026-11-21`. */
function dateOf(day: number): string {
  return new Date(day * MS_PER_DAY).toISOString().slice(0, 10)
}

function tableOf(day: number): string {
  return `heartbeats_${dateOf(day).replaceAll('-', '')}`
}

function dayOf(table: string): number {
  const date = table.replace(/^heartbeats_(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3')
  return Date.parse(`${date}T00:00:00Z`) / MS_PER_DAY
}

/** System-wide: the days (epoch days) that have a partition. */
export async function listHeartbeatDays(db: Queryable): Promise<Set<number>> {
  const rows = await db.query<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'heartbeats'::regclass and not i.inhdetachpending`
  )
  return new Set(rows.map(({ name }) => dayOf(name)))
}

/** Days on their way out; `half`: still tied to the table, because taking it out was cut off. */
async function listLeavingDays(db: Queryable): Promise<Array<{ table: string; half: boolean }>> {
  return db.query(
    `select c.relname as table, i.inhrelid is not null as half
     from pg_class c left join pg_inherits i on i.inhrelid = c.oid
     where c.relname ~ '^heartbeats_\\d{8}$' and c.relkind = 'r'
       and c.relnamespace = (select relnamespace from pg_class where oid = 'heartbeats'::regclass)
       and (i.inhrelid is null or i.inhdetachpending)
     order by 1`
  )
}

/** Waits for who still sees the day, and shuts nobody out. */
function finishDetach(table: string): string {
  return `alter table heartbeats detach partition ${table} finalize`
}

/**
 * System-wide: makes the missing ones of these days. Safe with any number of processes at once. Each is made beside the
 * table and then attached: readers and writers of the other days go on, where `create table … partition of` would shut
 * them all out and itself wait for the longest reader. What is left of a day on its way out gives way; one that is half out
 * is first taken out whole, for to drop what is tied to the table would shut everybody out too. Fails with 55P03 when the
 * table stays locked.
 */
export async function createHeartbeatDays(db: Database, days: Iterable<number>): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [LOCK])
    const existing = await listHeartbeatDays(tx)
    const missing = [...days].filter((day) => !existing.has(day))
    await tx.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`)
    const leaving = missing.length === 0 ? [] : await listLeavingDays(tx)
    for (const day of missing) {
      const table = tableOf(day)
      const left = leaving.find((one) => one.table === table)
      if (left?.half) await tx.query(finishDetach(table))
      if (left !== undefined) await tx.query(`drop table ${table}`)
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

/** Drops the tables that are out. Others wait for none of it: the files are deleted after all locks are gone. */
function dropDaysThatLeft(db: Database): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [LOCK])
    // Looked up under the lock: whoever was quicker may have made the day anew.
    const left = (await listLeavingDays(tx)).filter(({ half }) => !half)
    for (const { table } of left) await tx.query(`drop table ${table}`)
    return left.length
  })
}

/**
 * System-wide: takes every day before this one out, oldest first, and drops it; what an earlier try left behind goes first.
 * The last heartbeat of monitors that would have none left is kept. Waits for who reads or writes history at the moment, and
 * nobody waits for it. Returns how many are gone. Does nothing while somebody else is at it.
 */
export async function dropHeartbeatDays(db: Database, before: number): Promise<number> {
  // `detach … concurrently` is several transactions, so it can be in none.
  return db.session(async (session) => {
    const [lock] = await session.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [LEAVING_LOCK])
    if (!lock?.taken) return 0
    for (const { table, half } of await listLeavingDays(session)) {
      if (half) await session.query(finishDetach(table))
    }
    let dropped = await dropDaysThatLeft(db)
    const days = [...(await listHeartbeatDays(session))].filter((day) => day < before).sort((a, b) => a - b)
    for (const day of days) {
      await session.query(KEEP_LAST, [new Date(day * MS_PER_DAY), new Date((day + 1) * MS_PER_DAY)])
      await session.query(`alter table heartbeats detach partition ${tableOf(day)} concurrently`)
      dropped += await dropDaysThatLeft(db)
    }
    // The server notices a closed connection a moment later.
    await session.query('select pg_advisory_unlock($1)', [LEAVING_LOCK])
    return dropped
  })
}
