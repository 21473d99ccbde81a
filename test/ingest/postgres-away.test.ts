import { randomUUID } from 'node:crypto'
import { type Test, test } from 'tap'
import type { Log } from '../../shared/log.ts'
import { CONCURRENCY } from '../../worker/group-writer.ts'
import { storeUrl, withAdmin } from '../support/database.ts'
import { historyOf } from '../support/gateway-tenant.ts'
import { openStores, type Stores, workerFor } from '../support/ingest.ts'
import { drained, jobOf, keyOf, transitionsOf } from '../support/jobs.ts'
import { createTenant } from '../support/tenant.ts'
import { waitFor } from '../support/wait-for.ts'

const DAY_MS = 86_400_000

/** Asks the server as its superuser, from outside of the test's database. */
function ask(text: string, values?: unknown[]): Promise<Array<Record<string, unknown>>> {
  return withAdmin(storeUrl('TEST_DATABASE_URL'), async (admin) => (await admin.query(text, values)).rows)
}

function nameOf({ databaseUrl }: Stores): string {
  return new URL(databaseUrl).pathname.slice(1)
}

/** Refuses new connections to the test's database and ends those it has. */
async function takeAway(stores: Stores): Promise<void> {
  await ask(`alter database ${nameOf(stores)} allow_connections false`)
  await ask('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [nameOf(stores)])
}

async function giveBack(stores: Stores): Promise<void> {
  await ask(`alter database ${nameOf(stores)} allow_connections true`)
}

/** Ends the connection that waits for a lock in a statement like this one. */
async function endWaiting(stores: Stores, statement: string): Promise<void> {
  const ended = await waitFor(
    async () => {
      const rows = await ask(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = $1 and wait_event_type = 'Lock' and query like $2`,
        [nameOf(stores), statement]
      )
      return rows.length > 0 && rows.length
    },
    { what: `a statement like ${statement} waits` }
  )
  if (ended !== 1) throw new Error(`${ended} statements like ${statement} waited`)
}

async function sceneOf(t: Test) {
  const stores = await openStores(t)
  const tenant = await createTenant(stores.db, stores.secrets)
  const monitorId = await tenant.addMonitor()
  const key = await keyOf(stores, monitorId)
  const sourceId = randomUUID()
  const now = Date.now()
  const job = (...ages: number[]) => jobOf(ages.map((age) => ({ key, sourceId, timestamp: now - age })))
  const warnings: string[] = []
  // The rest of the log stays as it is: silent.
  const log: Log = Object.create(stores.log, { warn: { value: (_: object, text: string) => warnings.push(text) } })
  const stored = async () => (await historyOf(stores, monitorId)).length
  return { stores, key, job, stored, warnings, watched: { ...stores, log } }
}

test('while Postgres refuses connections jobs wait, and are written when it is back', async (t) => {
  const { stores, key, job, stored, warnings, watched } = await sceneOf(t)
  await workerFor(t, watched)
  await takeAway(stores)
  const jobs = CONCURRENCY + 18
  for (let i = 0; i < jobs; i++) await stores.queue.add(0, job(500 * i, 500 * i + 250))
  await waitFor(() => warnings.filter((text) => /the group waits/.test(text)).length >= 3)
  t.match(await stores.queue.counts(), { waiting: 18, active: CONCURRENCY, delayed: 0, failed: 0 })
  await giveBack(stores)
  t.equal(await drained(stores), 0, 'no dead letter')
  t.equal(await stored(), 2 * jobs)
  t.same(await transitionsOf(stores, key), ['pending up'])
})

test('a worker that stops while Postgres is away hands its jobs back, and another writes them', async (t) => {
  const { stores, job, stored, warnings, watched } = await sceneOf(t)
  const worker = await workerFor(t, watched)
  await takeAway(stores)
  for (let i = 0; i < 50; i++) await stores.queue.add(0, job(1000 * i))
  await waitFor(() => warnings.some((text) => /the group waits/.test(text)))
  await worker.stop()
  t.match(await stores.queue.counts(), { waiting: 50, active: 0, delayed: 0, failed: 0 })
  await giveBack(stores)
  await workerFor(t, stores)
  t.equal(await drained(stores), 0, 'no dead letter')
  t.equal(await stored(), 50)
})

const MOMENTS: Array<[what: string, lock: string, statement: string]> = [
  ['the states are locked', 'select from monitor_states for update', '%update monitor_states%'],
  ['the rows are copied', 'lock table heartbeats in access exclusive mode', 'copy heartbeats%'],
  ['the transitions are written', 'lock table transitions in access exclusive mode', 'insert into transitions%']
]

for (const [what, lock, statement] of MOMENTS) {
  test(`a connection that is lost while ${what} costs a try and nothing else`, async (t) => {
    const { stores, key, job, stored } = await sceneOf(t)
    await workerFor(t, stores)
    await stores.db.transaction(async (tx) => {
      await tx.query('set local role postgres')
      await tx.query(lock)
      await stores.queue.add(0, job(3000, 2000, 1000))
      await endWaiting(stores, statement)
    })
    t.equal(await drained(stores), 0, 'no dead letter')
    t.equal(await stored(), 3)
    t.same(await transitionsOf(stores, key), ['pending up'])
  })
}

test('a connection that is lost while rows are merged costs a try and nothing else', async (t) => {
  const { stores, job, stored } = await sceneOf(t)
  await workerFor(t, stores)
  // Three groups in a row with a duplicate, and the next one is merged straight away.
  for (let i = 0; i < 4; i++) {
    await stores.queue.add(0, job(1000))
    t.equal(await drained(stores), 0)
  }
  await stores.db.transaction(async (tx) => {
    await tx.query('lock table heartbeats in share mode')
    await stores.queue.add(0, job(1000, 2000))
    await endWaiting(stores, 'insert into heartbeats%')
  })
  t.equal(await drained(stores), 0, 'no dead letter')
  t.equal(await stored(), 2)
})

test('a connection that is lost while a missing day is made costs a try and nothing else', async (t) => {
  const { stores, job, stored } = await sceneOf(t)
  await workerFor(t, stores)
  await stores.db.transaction(async (tx) => {
    // Attaching a day waits for whoever changes the table otherwise.
    await tx.query('lock table heartbeats in share update exclusive mode')
    await stores.queue.add(0, job(50 * DAY_MS, 1000))
    await endWaiting(stores, 'alter table heartbeats attach partition%')
  })
  t.equal(await drained(stores), 0, 'no dead letter')
  t.equal(await stored(), 2)
})
