import { test } from 'tap'
import { jobOf, stateOf } from '../support/jobs.ts'
import { sweepSceneFor } from '../support/sweep.ts'

test('a monitor that falls silent is down from its deadline on, once, and recovers', async (t) => {
  const scene = await sweepSceneFor(t)
  await scene.hear(0)
  await scene.hear(60)
  t.match(await scene.sweep(149), { transitions: 0 })
  t.match(await scene.sweep(150), { transitions: 1 })
  t.match(await scene.sweep(151), { transitions: 0 })
  t.match(await scene.sweep(1000), { transitions: 0 })
  await scene.hear(1010)
  t.same(await scene.transitions(), [
    { step: 'pending up', reason: 'reported', at: 0 },
    { step: 'up down', reason: 'missed', at: 150 },
    { step: 'down up', reason: 'reported', at: 1010 }
  ])
  t.match(await scene.sweep(1099), { transitions: 0 })
  t.match(await scene.sweep(1100), { transitions: 1 })
})

test('heartbeats that only go on saying the same move the deadline, by their receive time', async (t) => {
  const scene = await sweepSceneFor(t)
  for (let second = 0; second <= 600; second += 60) {
    await scene.hear(second, { late: 20 })
    t.match(await scene.sweep(second + 50), { transitions: 0 })
  }
  t.match(await scene.sweep(689.999), { transitions: 0 })
  t.match(await scene.sweep(690), { transitions: 1 })
})

test('a monitor that was never heard of is not missed', async (t) => {
  const scene = await sweepSceneFor(t)
  t.match(await scene.sweep(1_000_000), { transitions: 0 })
  t.match(await stateOf(scene.stores, scene.key), { state: 'pending' })
})

test('down heartbeats move the deadline too, and a deadline that passes then is only noted', async (t) => {
  const scene = await sweepSceneFor(t)
  await scene.hear(0)
  await scene.hear(60, { status: 'down' })
  await scene.hear(120, { status: 'down' })
  await scene.sweep(209)
  const noted = () =>
    scene.stores.db.query<{ also_missed_at: Date | null }>('select also_missed_at from monitor_states')
  t.same(await noted(), [{ also_missed_at: null }])
  await scene.sweep(211)
  t.same(await noted(), [{ also_missed_at: new Date(scene.at(210)) }])
  t.match(await stateOf(scene.stores, scene.key), { state: 'down', state_reason: 'reported' })
  t.equal((await scene.transitions()).length, 2)
})

test('back-fill moves no deadline', async (t) => {
  const scene = await sweepSceneFor(t)
  await scene.hear(0)
  await scene.hear(89, { late: 3600 })
  t.match(await scene.sweep(90), { transitions: 1 })
})

test('an outage that needs confirmation begins with the first of those that confirm it', async (t) => {
  const scene = await sweepSceneFor(t)
  await scene.configure('confirmations = $2, recoveries = $3', [3, 2])
  await scene.hear(0)
  for (const second of [60, 120]) await scene.hear(second, { status: 'down' })
  t.match(await stateOf(scene.stores, scene.key), { state: 'up' })
  await scene.hear(180)
  for (const second of [240, 300, 360]) await scene.hear(second, { status: 'down' })
  for (const second of [420, 480, 540]) await scene.hear(second)
  t.same(
    (await scene.transitions()).map(({ step, at }) => [step, at]),
    [
      ['pending up', 0],
      ['up down', 240],
      ['down up', 480]
    ]
  )
})

test('any number of sweeps at once turn each monitor once', async (t) => {
  const scene = await sweepSceneFor(t)
  const { db } = scene.stores
  for (let i = 0; i < 300; i++) await scene.tenant.addMonitor()
  await db.query(
    `update monitor_states set state = 'up', observed = 'up', last_received_at = $1, check_at = $1, by_socket = false`,
    [new Date(scene.at(0))]
  )
  const swept = await Promise.all(Array.from({ length: 6 }, () => scene.sweep(200)))
  const total = swept.reduce((sum, { transitions }) => sum + transitions, 0)
  t.equal(total, 301)
  const [count] = await db.query<{ n: number }>('select count(*) as n from transitions')
  t.equal(count?.n, 301)
})

test('a heartbeat that waits in the queue holds the sweep back', async (t) => {
  const scene = await sweepSceneFor(t)
  const { queue } = scene.stores
  await scene.hear(0)
  const row = { key: scene.key, sourceId: scene.sourceId, timestamp: scene.at(80) }
  await queue.add(0, jobOf([row]), scene.at(80))
  t.match(await scene.sweep(1000), { transitions: 0, watermark: scene.at(80) })
  await queue.add(0, jobOf([row]), scene.at(70))
  t.match(await scene.sweep(1000), { watermark: scene.at(70) })
  t.match(
    await scene.sweep(60, { ingest: { stamp: 1000 } }),
    { watermark: scene.at(60) },
    'and never ahead of the clock'
  )
})

test('a door with a heartbeat that is not queued yet holds the sweep back', async (t) => {
  const scene = await sweepSceneFor(t)
  await scene.hear(0)
  t.match(await scene.sweep(1000, { ingest: { stamp: 89 } }), { transitions: 0 })
  t.match(await scene.sweep(1000, { ingest: { stamp: 90 } }), { transitions: 1 })
})
