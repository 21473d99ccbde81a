import { type Test, test } from 'tap'
import { withClient } from '../../shared/db.ts'
import { jobOf } from '../support/jobs.ts'
import { type SweepScene, sweepSceneFor } from '../support/sweep.ts'
import { waitFor } from '../support/wait-for.ts'

async function spansOf({ stores, at }: SweepScene): Promise<Array<[from: number, to: number | null]>> {
  const rows = await stores.db.query<{ began_at: Date; ended_at: Date | null }>(
    'select began_at, ended_at from ingest_outages order by began_at'
  )
  const second = (time: Date | null) => (time === null ? null : (time.getTime() - at(0)) / 1000)
  return rows.map(({ began_at, ended_at }) => [second(began_at) ?? Number.NaN, second(ended_at)])
}

test('while nothing can get in nobody is missed, and afterwards everybody gets that time and an interval', async (t) => {
  const scene = await sweepSceneFor(t)
  await scene.hear(0)
  await scene.sweep(50)
  t.match(await scene.sweep(100, { ingest: 'away' }), { watermark: null, transitions: 0 })
  t.match(await scene.sweep(200, { ingest: 'away' }), { watermark: null })
  t.same(await spansOf(scene), [[50, null]])
  t.match(await scene.sweep(351, { ingest: { stamp: 351, since: 350 } }), { transitions: 0 })
  t.same(await spansOf(scene), [[50, 350]])
  // 90 + 300 of the outage + an interval.
  t.match(await scene.sweep(449, { ingest: { stamp: 449, since: 350 } }), { transitions: 0 })
  t.match(await scene.sweep(451, { ingest: { stamp: 451, since: 350 } }), { transitions: 1 })
  t.match(await scene.transitions(), { length: 2, 1: { step: 'up down', reason: 'missed', at: 450 } })
})

test('an outage that no sweep saw is found by how long ingest has been there', async (t) => {
  const scene = await sweepSceneFor(t)
  await scene.hear(0)
  await scene.sweep(50)
  t.match(await scene.sweep(5000, { ingest: { stamp: 5000, since: 4990 } }), { transitions: 0 })
  t.same(await spansOf(scene), [[50, 4990]])
})

test('when only the workers were away nothing is excused', async (t) => {
  const scene = await sweepSceneFor(t)
  await scene.hear(0)
  await scene.sweep(50)
  t.match(await scene.sweep(5000), { transitions: 1 })
  t.same(await spansOf(scene), [])
})

test('the span is unknown in the history of those that it blinded, and of nobody else', async (t) => {
  const scene = await sweepSceneFor(t)
  await scene.hear(0)
  const other = await sweepSceneFor(t)
  await other.hear(0)
  for (const one of [scene, other]) {
    await one.sweep(10)
    await one.sweep(30, { ingest: 'away' })
  }
  // What was kept by the sender comes afterwards.
  await other.hear(41, { late: 21 })
  for (const one of [scene, other]) {
    await one.hear(60)
    await one.sweep(61, { ingest: { stamp: 61, since: 40 } })
    await one.hear(120)
    await one.sweep(150, { ingest: { stamp: 150, since: 40 } })
  }
  t.equal((await scene.transitions()).length, 1, 'not before everybody had time to hand in what was kept')
  for (const one of [scene, other]) {
    await one.sweep(161, { ingest: { stamp: 161, since: 40 } })
    await one.sweep(162, { ingest: { stamp: 162, since: 40 } })
  }
  t.same(await scene.transitions(), [
    { step: 'pending up', reason: 'reported', at: 0 },
    { step: 'up unknown', reason: 'platform', at: 10 },
    { step: 'unknown up', reason: 'platform', at: 40 }
  ])
  t.equal((await other.transitions()).length, 1)
})

/** Nothing could get in from 10 to 40, and everybody had time to hand in what was kept. */
async function afterAnOutage(t: Test): Promise<{ scene: SweepScene; paint: () => Promise<unknown> }> {
  const scene = await sweepSceneFor(t)
  await scene.hear(0)
  await scene.sweep(10)
  await scene.sweep(30, { ingest: 'away' })
  await scene.hear(60)
  await scene.sweep(61, { ingest: { stamp: 61, since: 40 } })
  await scene.hear(120)
  return { scene, paint: () => scene.sweep(161, { ingest: { stamp: 161, since: 40 } }) }
}

test('what tells of the span while it is painted is waited for', async (t) => {
  const { scene, paint } = await afterAnOutage(t)
  const { stores, tenant, key, sourceId, at } = scene
  const sql = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const waiting = () =>
    withClient(stores.databaseUrl, (client) =>
      waitFor(async () => (await client.query<{ pid: number }>(sql)).rows[0]?.pid, { what: 'the painting waits' })
    )
  let painting: Promise<unknown> | undefined
  await stores.db.transaction(async (tx) => {
    // As the writer of a group does.
    await tx.query('update monitor_states set last_received_at = last_received_at where monitor_key = $1', [key])
    await tx.query(
      `insert into heartbeats (monitor_key, "timestamp", received_at, source_id, organization_id, status)
       values ($1, $2, $3, $4, $5, 0)`,
      [key, new Date(at(20)), new Date(at(160)), sourceId, tenant.organizationId]
    )
    painting = paint()
    await Promise.race([painting, waiting()])
  })
  await painting
  t.equal((await scene.transitions()).length, 1)
})

test('a span is not painted before all that was received around it is written', async (t) => {
  const { scene, paint } = await afterAnOutage(t)
  const { stores, key, sourceId, at } = scene
  await stores.queue.add(0, jobOf([{ key, sourceId, timestamp: at(39), receivedAt: at(41) }]), at(41))
  await paint()
  t.equal((await scene.transitions()).length, 1)
})
