import type { Database } from '../shared/db.ts'
import { ranksSql } from '../shared/latency-slots.ts'
import { dropHeartbeatDays } from '../shared/store/heartbeat-days.ts'
import { type FleetMonitor, readFleetMonitors } from './fleet.ts'

export const DAY_MS = 86_400_000
export const MONITORS = 7000
/** One heartbeat a minute: 7,000 monitors make ten million rows a day. */
export const PER_DAY = 1440
/** Of so many the rollups are there too. */
export const ROLLED_MONITORS = 200
/** Days that are loaded at the same time. */
const LOADERS = 2

/**
 * A day of history, made apart and attached when it is full: without the key the rows go in several times as fast, and
 * sorting them once is cheaper than an index that grows.
 */
async function loadDay(db: Database, day: number, monitors: readonly FleetMonitor[]): Promise<void> {
  const [from, to] = [new Date(day * DAY_MS).toISOString(), new Date((day + 1) * DAY_MS).toISOString()]
  const table = `heartbeats_${from.slice(0, 10).replaceAll('-', '')}`
  await db.query(`drop table if exists ${table}`)
  await db.query(`create table ${table} (like heartbeats,
    check ("timestamp" is not null and "timestamp" >= '${from}' and "timestamp" < '${to}'))`)
  await db.query(
    `insert into ${table} (monitor_key, "timestamp", latency, received_at, source_id, organization_id, status)
     select m.key, t, 20 + random() * 100, t, m.source_id, m.organization_id, 0
     from unnest($1::bigint[], $2::uuid[], $3::uuid[]) as m (key, source_id, organization_id)
       cross join generate_series(0, $4::int - 1) as i
       cross join lateral (select $5::timestamptz + i * interval '1 minute' + (m.key % 60) * interval '1 second') as x (t)`,
    [
      monitors.map(({ key }) => key),
      monitors.map(({ agentId }) => agentId),
      monitors.map(({ organizationId }) => organizationId),
      PER_DAY,
      new Date(from)
    ]
  )
  await db.query(`alter table ${table} add primary key (monitor_key, "timestamp", source_id) include (status, latency)`)
  await db.query(`alter table heartbeats attach partition ${table} for values from ('${from}') to ('${to}')`)
}

/** 90 days of hours and days, each with a histogram of 40 slots. */
export async function loadRollups(db: Database, until: number, monitors: readonly FleetMonitor[]): Promise<void> {
  for (const [table, hours] of [
    ['rollups_1h', 1],
    ['rollups_1d', 24]
  ] as const) {
    await db.query(
      `insert into ${table}
       select b.*, p.*, latency_n
       from (
         select m.key, $3::timestamptz - i * interval '1 hour' * $4::int, m.organization_id, 60, 0, 0, 0, 0, 60 as latency_n,
           4200, 20, 120, array(select generate_series(190, 229)::smallint) as slots,
           array(select case when i > 20 then 1 else 2 end from generate_series(1, 40) i) as counts
         from unnest($1::bigint[], $2::uuid[]) as m (key, organization_id) cross join generate_series(1, 90 * 24 / $4::int) as i
       ) b cross join lateral (${ranksSql('slots', 'counts', 'latency_n')}) p`,
      [monitors.map(({ key }) => key), monitors.map(({ organizationId }) => organizationId), new Date(until), hours]
    )
  }
  await db.query('update rollup_state set closed_until = $1, rolled_until = $1', [new Date(until)])
}

/** Fills so many days up to the last midnight. */
export async function loadHistory(db: Database, days: number): Promise<void> {
  const monitors = await readFleetMonitors(db, MONITORS)
  const today = Math.floor(Date.now() / DAY_MS)
  // A worker may have made all the days that there can be.
  await dropHeartbeatDays(db, today - days)
  await db.query('truncate heartbeats')
  const left = Array.from({ length: days }, (_, place) => today - days + place)
  const loader = async () => {
    for (let day = left.shift(); day !== undefined; day = left.shift()) await loadDay(db, day, monitors)
  }
  await Promise.all(Array.from({ length: LOADERS }, loader))
}
