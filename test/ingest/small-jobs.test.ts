import { test } from 'tap'
import { v7 as uuidv7 } from 'uuid'
import { createMetrics } from '../../shared/metrics.ts'
import { CONCURRENCY, GroupWriter } from '../../worker/group-writer.ts'
import { openStores } from '../support/ingest.ts'
import { jobOf, keyOf } from '../support/jobs.ts'
import { createTenant } from '../support/tenant.ts'

test('jobs that fill every place are written at once, however few heartbeats they hold', async (t) => {
  const stores = await openStores(t)
  const tenant = await createTenant(stores.db, stores.secrets)
  const key = await keyOf(stores, await tenant.addMonitor())
  const writer = new GroupWriter({ ...stores, metrics: createMetrics(), clock: () => Date.now() })
  const sourceId = uuidv7()
  let timestamp = Date.now() - 10_000
  const write = () => writer.write(jobOf([{ key, sourceId, timestamp: timestamp++ }]))
  await write()
  const began = performance.now()
  for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: CONCURRENCY }, write))
  const took = performance.now() - began
  t.ok(took < 1500, `a group each 100 ms would have taken 2 s; this took ${Math.round(took)} ms`)
  t.match(await stores.db.query('select count(*) from heartbeats'), [{ count: 1 + 20 * CONCURRENCY }])
  await writer.stop()
})
