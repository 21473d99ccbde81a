import { randomUUID } from 'node:crypto'
import { test } from 'tap'
import { openStores, workerFor } from '../support/ingest.ts'
import { drained, jobOf, keyOf } from '../support/jobs.ts'
import { createTenant } from '../support/tenant.ts'

test('two workers that meet steady and changing monitors never wait for each other in a circle', async (t) => {
  const stores = await openStores(t)
  const tenant = await createTenant(stores.db, stores.secrets)
  const keys: number[] = []
  for (let i = 0; i < 40; i++) keys.push(await keyOf(stores, await tenant.addMonitor()))
  const [sourceId, now] = [randomUUID(), Date.now()]
  const workers = [await workerFor(t, stores), await workerFor(t, stores)]
  for (let job = 0; job < 600; job++) {
    const rows = keys.map((key) => {
      const status = Math.random() < 0.3 ? ('down' as const) : ('up' as const)
      return { key, sourceId, timestamp: now - 50_000 + job * 20, receivedAt: now, status }
    })
    await stores.queue.add(0, jobOf(rows))
  }
  t.equal(await drained(stores), 0)
  await Promise.all(workers.map((worker) => worker.stop()))
  const server = 'select deadlocks from pg_stat_database where datname = current_database()'
  t.same(await stores.db.query(server), [{ deadlocks: 0 }])
})
