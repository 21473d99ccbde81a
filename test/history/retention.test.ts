import { type Test, test } from 'tap'
import { withClient } from '../../shared/db.ts'
import { PLANS } from '../../shared/plans.ts'
import { createHeartbeatDays, listHeartbeatDays } from '../../shared/store/heartbeat-days.ts'
import { findLastHeartbeat } from '../../shared/store/heartbeats.ts'
import { replacePlan } from '../../shared/store/organization-plans.ts'
import { deleteOldRows, dropDays, longestRawDays } from '../../worker/retention.ts'
import { rollUp } from '../../worker/rollup.ts'
import { openStores, type Stores } from '../support/ingest.ts'
import { keyOf } from '../support/jobs.ts'
import { beginRollups, putHeartbeats, rollupsOf } from '../support/raw-history.ts'
import { createTenant } from '../support/tenant.ts'
import { waitFor } from '../support/wait-for.ts'

const DAY = 86_400_000
const TODAY = Math.floor(Date.now() / DAY)
const NOW = TODAY * DAY + DAY / 2

async function sceneOf(t: Test, plan: keyof typeof PLANS = 'self-hosted') {
  const stores = await openStores(t)
  const { db } = stores
  const tenant = await createTenant(db, stores.secrets, plan)
  const monitorId = await tenant.addMonitor()
  const key = await keyOf(stores, monitorId)
  const change = (to: keyof typeof PLANS, now = NOW) =>
    db.transaction((tx) => replacePlan(tx, tenant.organizationId, to, now))
  const daysAgo = async () => [...(await listHeartbeatDays(db))].map((day) => TODAY - day).sort((a, b) => a - b)
  return { stores, db, tenant, monitorId, key, change, daysAgo }
}

/** Noon, so many days ago. */
const ago = (days: number) => NOW - days * DAY

test('days that the plan keeps no longer are dropped whole, and their rollups stay', async (t) => {
  const { stores, db, key, daysAgo } = await sceneOf(t, 'free')
  await beginRollups(stores, (TODAY - 10) * DAY)
  await putHeartbeats(
    stores,
    key,
    [0, 6, 7, 8, 9].map((days) => ({ timestamp: ago(days), latency: days }))
  )
  t.equal(await dropDays(db, NOW), 0, 'nothing is rolled up yet')
  await rollUp({ db, clock: () => NOW })
  t.equal(await dropDays(db, NOW), 2)
  t.same(await daysAgo(), [0, 6, 7])
  t.equal(await dropDays(db, NOW), 0)
  t.equal((await rollupsOf(stores, key, '1d')).length, 4)
  await beginRollups(stores, (TODAY - 10) * DAY)
  await rollUp({ db, clock: () => NOW })
  t.equal((await rollupsOf(stores, key, '1d')).length, 4, 'a dropped day leaves its rollups as they are')
})

test('the longest plan in use decides for all', async (t) => {
  const { stores, db, key, daysAgo } = await sceneOf(t, 'free')
  await createTenant(db, stores.secrets, 'business')
  await beginRollups(stores, NOW)
  await putHeartbeats(
    stores,
    key,
    [8, 89, 92].map((days) => ({ timestamp: ago(days) }))
  )
  t.equal(await longestRawDays(db, NOW), 90)
  t.equal(await dropDays(db, NOW), 1)
  t.same(await daysAgo(), [8, 89])
})

test('a monitor keeps its last heartbeat when its day goes', async (t) => {
  const { stores, db, tenant, key } = await sceneOf(t, 'free')
  const active = await keyOf(stores, await tenant.addMonitor())
  await beginRollups(stores, NOW)
  await putHeartbeats(stores, key, [
    { timestamp: ago(12), latency: 4 },
    { timestamp: ago(11), latency: 5, status: 'degraded' }
  ])
  await putHeartbeats(stores, active, [{ timestamp: ago(11) }, { timestamp: ago(1), latency: 6 }])
  for (const [one, at] of [
    [key, ago(11)],
    [active, ago(1)]
  ] as const) {
    await db.query('update monitor_states set last_heartbeat_at = $2 where monitor_key = $1', [one, new Date(at)])
  }
  t.equal(await dropDays(db, NOW), 2)
  const last = (of: number) => findLastHeartbeat(db, tenant.organizationId, of)
  t.match(await last(key), { latency: 5, status: 'degraded', timestamp: new Date(ago(11)) })
  t.match(await last(active), { latency: 6 })
  t.equal((await db.query('select 1 from last_heartbeats')).length, 1)
})

/** Resolves to the backend that waits for others with such a statement. */
function waitingWith(words: string, { databaseUrl }: Stores): Promise<number> {
  const sql = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    and query ~ $1`
  return withClient(databaseUrl, (client) =>
    waitFor(async () => (await client.query<{ pid: number }>(sql, [words])).rows[0]?.pid, {
      what: `somebody waits with ${words}`
    })
  )
}

/** Resolves to the backend that waits for readers of the day it takes out. */
const takingOut = (stores: Stores) => waitingWith('concurrently$', stores)

/** Cuts the drop off half way: to be called while somebody reads. */
async function cutOff(t: Test, stores: Stores): Promise<void> {
  const dropping = t.rejects(dropDays(stores.db, NOW), { code: '57P01' })
  const pid = await takingOut(stores)
  // Its locks are gone with it.
  await withClient(stores.databaseUrl, (client) => client.query('select pg_terminate_backend($1, 5000)', [pid]))
  await dropping
}

const HALF = 'select inhrelid::regclass::text as table from pg_inherits where inhdetachpending'

test('who reads history for long is not waited for by everybody else, and sees to the end what was there', async (t) => {
  const { stores, db, key, daysAgo } = await sceneOf(t, 'free')
  await beginRollups(stores, NOW)
  await putHeartbeats(stores, key, [{ timestamp: ago(9) }, { timestamp: ago(1) }])
  let dropping: Promise<number> | undefined
  await db.transaction(async (tx) => {
    const read = () => tx.query('select "timestamp" from heartbeats')
    await tx.query('set transaction isolation level repeatable read')
    t.equal((await read()).length, 2)
    dropping = dropDays(db, NOW)
    await takingOut(stores)
    await db.transaction(async (other) => {
      await other.query("set local lock_timeout = '1s'")
      await other.query('select 1 from heartbeats')
      await other.query('insert into heartbeats select * from heartbeats where false')
    })
    await putHeartbeats(stores, key, [{ timestamp: ago(1) + 1 }, { timestamp: ago(2) }])
    t.equal(await dropDays(db, NOW), 0, 'one at a time')
    t.equal((await read()).length, 2)
  })
  t.equal(await dropping, 1)
  t.same(await daysAgo(), [1, 2])
})

test('a drop that is cut off half way is brought to its end by the next, by a role without special rights', async (t) => {
  const { stores, db, key, daysAgo } = await sceneOf(t, 'free')
  await beginRollups(stores, NOW)
  const days = [9, 10, 1].map((one) => ({ timestamp: ago(one) }))
  await putHeartbeats(stores, key, days)
  const [role] = await db.query('select rolsuper, rolbypassrls from pg_roles where rolname = current_user')
  t.same(role, { rolsuper: false, rolbypassrls: false })
  await db.transaction(async (tx) => {
    await tx.query('select 1 from heartbeats')
    await cutOff(t, stores)
  })
  t.equal((await db.query(HALF)).length, 1)
  t.same(await daysAgo(), [1, 9], 'what is half out is out')
  t.equal((await db.query('select 1 from heartbeats')).length, 2)
  t.equal(await dropDays(db, NOW), 2)
  t.same(await daysAgo(), [1])
  t.equal((await db.query("select 1 from pg_class where relname ~ '^heartbeats_' and relkind = 'r'")).length, 1)
})

test('a day that was left on its way out gives way to heartbeats that need it', async (t) => {
  const { stores, db, key, daysAgo } = await sceneOf(t, 'free')
  await beginRollups(stores, NOW)
  await putHeartbeats(stores, key, [{ timestamp: ago(9) }, { timestamp: ago(1) }])
  const table = `heartbeats_${new Date(ago(9)).toISOString().slice(0, 10).replaceAll('-', '')}`
  await db.session((session) => session.query(`alter table heartbeats detach partition ${table} concurrently`))
  await putHeartbeats(stores, key, [{ timestamp: ago(9), latency: 5 }])
  t.same(await db.query('select latency from heartbeats where latency = 5'), [{ latency: 5 }])
  t.same(await daysAgo(), [1, 9])
})

test('a day that is half out is made anew, and nobody waits for that but who needs it', async (t) => {
  const { stores, db, key, daysAgo } = await sceneOf(t, 'free')
  await beginRollups(stores, NOW)
  await putHeartbeats(stores, key, [{ timestamp: ago(9) }, { timestamp: ago(1) }])
  let making: Promise<number> | undefined
  await db.transaction(async (tx) => {
    await tx.query('set transaction isolation level repeatable read')
    await tx.query('select 1 from heartbeats')
    await cutOff(t, stores)
    making = createHeartbeatDays(db, [TODAY - 9])
    await waitingWith('heartbeats_', stores)
    await db.transaction(async (other) => {
      await other.query("set local lock_timeout = '100ms'")
      t.equal((await other.query('select 1 from heartbeats')).length, 1)
      await other.query('insert into heartbeats select * from heartbeats where false')
    })
  })
  t.equal(await making, 1)
  t.same(await daysAgo(), [1, 9])
  await putHeartbeats(stores, key, [{ timestamp: ago(9) + 1 }])
  t.equal((await db.query('select 1 from heartbeats')).length, 2, 'what was on its way out is gone')
})

test('a smaller plan loses nothing for 14 days, however often it is changed', async (t) => {
  const { stores, db, key, change, daysAgo } = await sceneOf(t, 'business')
  await beginRollups(stores, NOW)
  await putHeartbeats(
    stores,
    key,
    [1, 20, 80].map((days) => ({ timestamp: ago(days) }))
  )
  t.equal(await change('team'), 'business')
  t.equal(await change('free', NOW + DAY), 'team')
  t.equal(await longestRawDays(db, NOW + 2 * DAY), 90)
  t.equal(await dropDays(db, NOW + 2 * DAY), 0)
  t.equal(await longestRawDays(db, NOW + 15 * DAY + 1), 7)
  await beginRollups(stores, NOW + 15 * DAY)
  t.equal(await dropDays(db, NOW + 15 * DAY + 1), 3)
  t.same(await daysAgo(), [])
  t.equal(await change('free'), 'free', 'the same plan again changes nothing')
  const [row] = await db.query<{ plan_changed_at: Date }>('select plan_changed_at from organizations')
  t.equal(row?.plan_changed_at.getTime(), NOW + DAY)
})

test('nobody there: days are kept as the standard plan keeps them', async (t) => {
  const { db } = await openStores(t)
  t.equal(await longestRawDays(db, NOW), PLANS['self-hosted'].retention.raw)
  await createHeartbeatDays(db, [TODAY - 30])
  await db.query('update rollup_state set rolled_until = $1', [new Date(NOW)])
  t.equal(await dropDays(db, NOW), 0)
})

test('rollups and state changes beyond the plan are deleted once a day, those of a deleted monitor whole', async (t) => {
  const { stores, db, tenant, key } = await sceneOf(t, 'free')
  const gone = await keyOf(stores, await tenant.addMonitor())
  for (const [table, days] of [
    ['rollups_5m', [29, 31]],
    ['rollups_1h', [89, 91]],
    ['rollups_1d', [399, 401, 402]]
  ] as const) {
    for (const one of [key, gone]) {
      await db.query(
        `insert into ${table} select $1, at, $2, 1, 0, 0, 0, 0, 0, null, null, null, '{}', '{}' from unnest($3::timestamptz[]) at`,
        [one, tenant.organizationId, days.map((day) => new Date(ago(day)))]
      )
    }
  }
  for (const days of [500, 450, 300]) {
    await db.query(
      `insert into transitions (monitor_key, organization_id, from_state, to_state, at, reason)
       values ($1, $2, 'up', 'down', $3, 'reported')`,
      [key, tenant.organizationId, new Date(ago(days))]
    )
  }
  await db.query('delete from monitors where key = $1', [gone])
  t.equal(await deleteOldRows(db, NOW), 4 + 7 + 1)
  t.equal(await deleteOldRows(db, NOW + 1000), 0, 'not twice a day')
  t.same(
    await Promise.all(
      (['5m', '1h', '1d'] as const).map(async (rollup) => (await rollupsOf(stores, key, rollup)).length)
    ),
    [1, 1, 1]
  )
  const kept = await db.query<{ at: Date }>('select at from transitions order by at')
  t.same(
    kept.map(({ at }) => at.getTime()),
    [ago(450), ago(300)],
    'the change that tells the state at the cutoff stays'
  )
})
