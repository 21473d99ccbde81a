import { randomUUID } from 'node:crypto'
import { type Test, test } from 'tap'
import type { Log } from '../../shared/log.ts'
import { historyOf } from '../support/gateway-tenant.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { drained, jobOf, keyOf } from '../support/jobs.ts'
import { createTenant } from '../support/tenant.ts'
import { waitFor } from '../support/wait-for.ts'

async function sceneOf(t: Test) {
  const stores = await openStores(t)
  const tenant = await createTenant(stores.db, stores.secrets)
  const monitorId = await tenant.addMonitor()
  const [key, sourceId, now] = [await keyOf(stores, monitorId), randomUUID(), Date.now()]
  const job = (age: number) => jobOf([{ key, sourceId, timestamp: now - age }])
  const errors: string[] = []
  // The rest of the log stays as it is: silent.
  const log: Log = Object.create(stores.log, {
    error: { value: ({ err }: { err: Error }, text: string) => errors.push(`${text}: ${err.message}`) }
  })
  const alter = (what: string) => stores.db.query(`set role postgres; ${what}; reset role`)
  return { stores, job, errors, watched: { ...stores, log }, alter, monitorId }
}

const MISFITS: Array<[what: string, breaking: string, mending: string]> = [
  [
    'a column is missing',
    'alter table monitor_states rename column other_sources to mislaid',
    'alter table monitor_states rename column mislaid to other_sources'
  ],
  ['a table is missing', 'alter table transitions rename to mislaid', 'alter table mislaid rename to transitions'],
  [
    'a right is missing',
    'revoke insert on transitions from pulsegate_system',
    'grant insert on transitions to pulsegate_system'
  ]
]

for (const [what, breaking, mending] of MISFITS) {
  test(`while ${what} jobs wait and the worker says why, and all are written when it is there`, async (t) => {
    const { stores, job, errors, watched, alter, monitorId } = await sceneOf(t)
    await alter(breaking)
    await workerFor(t, watched)
    for (let i = 0; i < 40; i++) await stores.queue.add(0, job(i * 1000))
    const heard = /do not fit; the group waits: .*(other_sources|transitions)/
    await waitFor(() => errors.filter((text) => heard.test(text)).length >= 2)
    t.match(await stores.queue.counts(), { failed: 0 })
    await alter(mending)
    t.equal(await drained(stores), 0, 'no dead letter')
    t.equal((await historyOf(stores, monitorId)).length, 40)
  })
}

test('a worker that stops while the schema does not fit hands its jobs back', async (t) => {
  const { stores, job, errors, watched, alter } = await sceneOf(t)
  await alter('alter table transitions rename to mislaid')
  const worker = await workerFor(t, watched)
  await stores.queue.add(0, job(0))
  await waitFor(() => errors.length > 0)
  await worker.stop()
  t.match(await stores.queue.counts(), { waiting: 1, active: 0, delayed: 0, failed: 0 })
})
