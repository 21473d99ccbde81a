import { type Test, test } from 'tap'
import { connectDb, sqlState } from '../../shared/db.ts'
import { createLog } from '../../shared/log.ts'
import { createHeartbeatDays, listHeartbeatDays } from '../../shared/store/heartbeat-days.ts'
import { cloneDatabase } from '../support/database.ts'

const log = createLog('test', 'fatal')
/** 2026-01-01. */
const DAY = 20_454

async function sceneOf(t: Test) {
  const database = await cloneDatabase(t)
  const db = connectDb({ url: database.url, role: 'pulsegate_system', log })
  const api = connectDb({ url: database.url, role: 'pulsegate_api', log })
  t.teardown(async () => {
    await api.stop()
    await db.stop()
  })
  return { db, api, query: database.query }
}

const INSERT = `
  insert into heartbeats (monitor_key, "timestamp", received_at, source_id, organization_id, status)
  values (1, $1, now(), gen_random_uuid(), gen_random_uuid(), 0)`

test('a day is made while others read and write history, and takes the heartbeats of that day', async (t) => {
  const { db } = await sceneOf(t)
  await createHeartbeatDays(db, [DAY])
  await db.transaction(async (tx) => {
    await tx.query('select 1 from heartbeats')
    await tx.query(INSERT, ['2026-01-01T12:00:00Z'])
    t.equal(await createHeartbeatDays(db, [DAY, DAY + 1]), 1)
  })
  await db.query(INSERT, ['2026-01-02T23:59:59.999Z'])
  await t.rejects(db.query(INSERT, ['2026-01-03T00:00:00Z']), { code: '23514' })
  t.same(await db.query('select tableoid::regclass::text as day from heartbeats order by 1'), [
    { day: 'heartbeats_20260101' },
    { day: 'heartbeats_20260102' }
  ])
  t.same(await listHeartbeatDays(db), new Set([DAY, DAY + 1]))
})

test('a day is like the whole table, belongs to the ingest role, and the API has no right on it', async (t) => {
  const { db, api, query } = await sceneOf(t)
  await createHeartbeatDays(db, [DAY])
  const indexes = await query(`
    select pg_get_constraintdef(c.oid) as key, p.inhparent::regclass::text as part_of
    from pg_index i left join pg_constraint c on c.conindid = i.indexrelid left join pg_inherits p on p.inhrelid = i.indexrelid
    where i.indrelid = 'heartbeats_20260101'::regclass`)
  const key = 'PRIMARY KEY (monitor_key, "timestamp", source_id) INCLUDE (status, latency)'
  t.same(indexes, [{ key, part_of: 'heartbeats_pkey' }])
  const owner = `select pg_get_userbyid(relowner) as owner, relacl from pg_class where relname = 'heartbeats_20260101'`
  t.same(await query(owner), [{ owner: 'pulsegate_system', relacl: null }])
  await t.rejects(api.query('select 1 from heartbeats_20260101'), { code: '42501' })
  t.same(await api.query('select 1 from heartbeats'), [])
})

test('who makes a day of a table that stays locked is told so in seconds', async (t) => {
  const { db } = await sceneOf(t)
  await db.transaction(async (tx) => {
    await tx.query('lock table heartbeats in share update exclusive mode')
    await t.rejects(createHeartbeatDays(db, [DAY]), { code: '55P03' })
  })
  t.equal(await createHeartbeatDays(db, [DAY]), 1)
})

test('any number of makers make each day once', async (t) => {
  const { db } = await sceneOf(t)
  const days = Array.from({ length: 20 }, (_, i) => DAY + i)
  const made = await Promise.all(Array.from({ length: 4 }, () => createHeartbeatDays(db, days).catch(sqlState)))
  t.same(made.sort(), [0, 0, 0, 20])
})
