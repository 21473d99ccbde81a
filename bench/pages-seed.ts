import { v7 as uuidv7 } from 'uuid'
import type { Database } from '../shared/db.ts'
import { createHeartbeatDays } from '../shared/store/heartbeat-days.ts'

const DAY_MS = 86_400_000
const STEP_MS = 300_000

/** Monitors of one organization with tags, a target and a state each, made by SQL. */
async function insertMonitors(db: Database, organizationId: string, count: number): Promise<void> {
  await db.query(
    `insert into monitors (id, organization_id, name, kind, target, interval_seconds, grace_seconds, timeout_seconds, tags)
     select id, $2, 'Service ' || lpad(place::text, 4, '0'), 'http', 'https://service-' || place || '.example.com/health',
       86400, 60, 10, array['team-' || place % 12]
     from unnest($1::uuid[]) with ordinality as one (id, place)`,
    [Array.from({ length: count }, () => uuidv7()), organizationId]
  )
  await db.query(
    `insert into monitor_states (monitor_key, organization_id, state, state_reason, state_since, last_heartbeat_at, last_received_at)
     select key, organization_id, (case when key % 50 = 0 then 'down' else 'up' end)::monitor_state, 'reported',
       now() - interval '5 hours', now(), now()
     from monitors where organization_id = $1 and kind = 'http'`,
    [organizationId]
  )
}

/** 90 days: days and hours as rollups, the last two days in steps of five minutes, and two changes of state a week. */
async function insertHistory(db: Database, organizationId: string): Promise<void> {
  const now = Math.floor(Date.now() / STEP_MS) * STEP_MS
  for (const [table, minutes, days] of [
    ['rollups_5m', 5, 2],
    ['rollups_1h', 60, 90],
    ['rollups_1d', 1440, 90]
  ] as const) {
    await db.query(
      `insert into ${table}
       select m.key, date_bin($3::int * interval '1 minute', $2, '1970-01-01 00:00Z') - i * $3::int * interval '1 minute',
         m.organization_id, $3, 0, 0, 0, 0, $3, $3::int * (40 + (m.key * i) % 60), 20, 120,
         array(select generate_series(190, 199)::smallint), array(select 1 from generate_series(1, 10))
       from monitors m cross join generate_series(0, $4::int * 1440 / $3::int) as i
       where m.organization_id = $1 and m.kind = 'http'`,
      [organizationId, new Date(now), minutes, days]
    )
  }
  await db.query(
    `insert into transitions (monitor_key, organization_id, from_state, to_state, at, reason)
     select m.key, m.organization_id, (case when i % 2 = 0 then 'up' else 'down' end)::monitor_state,
       (case when i % 2 = 0 then 'down' else 'up' end)::monitor_state,
       $2::timestamptz - (13 - i / 2) * interval '7 days' + (i % 2) * interval '10 minutes' + m.key % 600 * interval '1 second', 'reported'
     from monitors m cross join generate_series(0, 25) as i
     where m.organization_id = $1 and m.kind = 'http'`,
    [organizationId, new Date(now)]
  )
  await db.query('update rollup_state set closed_until = $1, rolled_until = $1', [new Date(now)])
}

/** Heartbeats of one monitor, evenly over the last hour. */
export async function insertPoints(db: Database, monitorId: string, count: number): Promise<void> {
  await db.query(
    `insert into heartbeats (monitor_key, "timestamp", latency, received_at, source_id, organization_id, status)
     select m.key, now() - place * (interval '59 minutes' / $2), 40 + 30 * sin(place / 100.0) + 10 * random(), now(), m.id,
       m.organization_id, 0
     from monitors m, generate_series(1, $2::int) as place where m.id = $1`,
    [monitorId, count]
  )
}

export async function seedPages(db: Database, organizationId: string, count: number): Promise<void> {
  const today = Math.floor(Date.now() / DAY_MS)
  await createHeartbeatDays(db, [today - 1, today])
  await insertMonitors(db, organizationId, count)
  await insertHistory(db, organizationId)
}
