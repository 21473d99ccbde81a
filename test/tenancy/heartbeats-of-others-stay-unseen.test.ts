import { randomUUID } from 'node:crypto'
import { type Test, test } from 'tap'
import { connectDb, sqlState } from '../../shared/db.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { drained, jobOf, keyOf } from '../support/jobs.ts'
import { createTenant } from '../support/tenant.ts'

/** A tenant with two heartbeats, written by a worker, and a connection like the API's. */
async function sceneOf(t: Test) {
  const stores = await openStores(t)
  const tenant = await createTenant(stores.db, stores.secrets)
  const key = await keyOf(stores, await tenant.addMonitor())
  await workerFor(t, stores)
  const [sourceId, now] = [randomUUID(), Date.now()]
  await stores.queue.add(0, jobOf([1, 2].map((ms) => ({ key, sourceId, timestamp: now - ms }))))
  t.equal(await drained(stores), 0, 'no dead letter')
  const api = connectDb({ url: stores.databaseUrl, role: 'pulsegate_api', log: stores.log })
  t.teardown(() => api.stop())
  return { stores, tenant, api }
}

test('the API sees the heartbeats of the tenant it speaks for, and of no other', async (t) => {
  const { stores, tenant, api } = await sceneOf(t)
  const stranger = await createTenant(stores.db, stores.secrets)
  const seenBy = (organizationId: string) =>
    api.tenant(organizationId, (tx) => tx.query('select monitor_key, message from heartbeats'))
  t.equal((await seenBy(tenant.organizationId)).length, 2)
  t.same(await seenBy(stranger.organizationId), [])
  t.same(await seenBy(tenant.organizationId.replace(/.$/, (last) => (last === '0' ? '1' : '0'))), [])
  t.same(await api.query('select 1 from heartbeats'), [], 'and nothing when it speaks for none')
})

test('the API reaches no day of heartbeats but through the whole table, and writes none', async (t) => {
  const { stores, tenant, api } = await sceneOf(t)
  const [{ day } = { day: '' }] = await stores.db.query<{ day: string }>(
    'select tableoid::regclass::text as day from heartbeats'
  )
  const faultOf = (statement: string) =>
    api.tenant(tenant.organizationId, (tx) => tx.query(statement)).then(() => 'none', sqlState)
  for (const statement of [
    `select * from ${day}`,
    `delete from ${day}`,
    'delete from heartbeats',
    'update heartbeats set status = 0',
    'insert into heartbeats select * from heartbeats',
    `drop table ${day}`
  ]) {
    t.equal(await faultOf(statement), '42501', statement)
  }
})
