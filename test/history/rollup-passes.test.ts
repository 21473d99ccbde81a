import { randomUUID } from 'node:crypto'
import { type Test, test } from 'tap'
import { listRecentMonitorKeys, ROLLUPS } from '../../shared/store/rollups.ts'
import { rollUp } from '../../worker/rollup.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { drained, jobOf, keyOf } from '../support/jobs.ts'
import { beginRollups, putHeartbeats, rollupsOf } from '../support/raw-history.ts'
import { createTenant } from '../support/tenant.ts'

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]
/** Midnight, three days ago. */
const START = Math.floor(Date.now() / DAY) * DAY - 3 * DAY

async function sceneOf(t: Test, monitors: number) {
  const stores = await openStores(t)
  const tenant = await createTenant(stores.db, stores.secrets)
  const keys: number[] = []
  for (let i = 0; i < monitors; i++) keys.push(await keyOf(stores, await tenant.addMonitor()))
  await beginRollups(stores, START)
  const rollUntil = (until: number) => rollUp({ db: stores.db, clock: () => until + MINUTE })
  return { stores, keys, rollUntil }
}

test('a pass that was cut off goes on with the monitors that are left, and late ones wait for its end', async (t) => {
  const { stores, keys, rollUntil } = await sceneOf(t, 150)
  const { db } = stores
  for (const key of keys) await putHeartbeats(stores, key, [{ timestamp: START + MINUTE }])
  let steps = 0
  const cutOff = { goOn: () => steps++ === 0, rest: async () => undefined }
  await rollUp({ db, clock: () => START + 6 * MINUTE }, cutOff)
  const done = async () => {
    const [row] = await db.query<{ monitors: number }>(
      'select count(distinct monitor_key)::int as monitors from rollups_5m where monitor_key = any($1)',
      [keys]
    )
    return row?.monitors
  }
  t.equal(await done(), 100, 'one transaction')
  const [first, last] = [keys[0] as number, keys.at(-1) as number]
  for (const key of [first, last]) {
    await putHeartbeats(stores, key, [{ timestamp: START + 2 * MINUTE }])
    await db.query('insert into rollup_dirty (monitor_key, from_at, to_at) values ($1, $2, $3)', [
      key,
      new Date(START),
      new Date(START + 5 * MINUTE)
    ])
  }
  await rollUntil(START + 5 * MINUTE)
  t.equal(await done(), 150)
  for (const key of [first, last]) t.match(await rollupsOf(stores, key, '5m'), [{ up: 2 }])
  t.same(await db.query('select * from rollup_dirty'), [])
})

test('records that move no state are in every layer', async (t) => {
  const { stores, keys, rollUntil } = await sceneOf(t, 2)
  await workerFor(t, stores)
  const [marked, filled] = keys as [number, number]
  const sourceId = randomUUID()
  const timestamp = START + HOUR
  await stores.queue.add(
    0,
    jobOf([
      { key: marked, sourceId, timestamp, status: 'start' },
      // Back-fill of a monitor that was never heard of.
      { key: filled, sourceId, timestamp, receivedAt: timestamp + 3 * HOUR }
    ])
  )
  t.equal(await drained(stores), 0)
  // As they would be written while their buckets are open.
  await stores.db.query('delete from rollup_dirty')
  for (let until = START; until <= START + DAY; until += HOUR) await rollUntil(until)
  for (const rollup of ROLLUPS) {
    t.match(await rollupsOf(stores, marked, rollup), [{ started: 1 }], rollup)
    t.match(await rollupsOf(stores, filled, rollup), [{ up: 1 }], rollup)
  }
})

test('a monitor that says nothing is not looked at', async (t) => {
  const { stores, keys } = await sceneOf(t, 1)
  const key = keys[0] as number
  const recent = (since: number) => listRecentMonitorKeys(stores.db, { after: 0, since, limit: 10 })
  t.notOk((await recent(START)).includes(key))
  await putHeartbeats(stores, key, [{ timestamp: START + MINUTE }])
  t.ok((await recent(START)).includes(key))
  t.notOk((await recent(START + HOUR)).includes(key))
})

test('a pass that a worker of an older version went beyond stops nobody', async (t) => {
  const { stores, keys, rollUntil } = await sceneOf(t, 1)
  const key = keys[0] as number
  await stores.db.query('update rollup_state set rolling_until = rolled_until, rolling_key = $1', [key])
  await putHeartbeats(stores, key, [{ timestamp: START + MINUTE }])
  await rollUntil(START + 5 * MINUTE)
  t.match(await rollupsOf(stores, key, '5m'), [{ up: 1 }])
})
