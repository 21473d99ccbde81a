import { test } from 'tap'
import { type SweepScene, sweepSceneFor } from '../support/sweep.ts'

/** A nightly job that may run for ten minutes. */
async function jobScene(t: Parameters<typeof sweepSceneFor>[0]): Promise<SweepScene> {
  const scene = await sweepSceneFor(t, { kind: 'push', intervalSeconds: 86_400, graceSeconds: 3600 })
  await scene.configure('max_runtime_seconds = $2', [600])
  await scene.hear(0)
  return scene
}

const steps = async (scene: SweepScene) =>
  (await scene.transitions()).slice(1).map(({ step, reason, at }) => `${step} ${reason} ${at}`)

test('a run that began and does not end is down when its time is over, once', async (t) => {
  const scene = await jobScene(t)
  await scene.hear(1000, { status: 'start' })
  t.match(await scene.sweep(1599), { transitions: 0 })
  t.match(await scene.sweep(1600), { transitions: 1 })
  t.match(await scene.sweep(1700), { transitions: 0 })
  await scene.hear(1800)
  t.same(await steps(scene), ['up down hung 1600', 'down up reported 1800'])
  t.match(await scene.sweep(5000), { transitions: 0 })
})

test('a run that ends in time is fine, and so is what comes again', async (t) => {
  const scene = await jobScene(t)
  for (let again = 0; again < 2; again++) {
    await scene.hear(1000, { status: 'start' })
    await scene.hear(1300)
  }
  t.match(await scene.sweep(9000), { transitions: 0 })
  t.same(await scene.stores.db.query('select running from monitor_states'), [{ running: false }])
})

test('the end may be written before the beginning', async (t) => {
  const scene = await jobScene(t)
  await scene.hear(1300)
  await scene.hear(1000, { status: 'start' })
  await scene.hear(2300, { rid: 'a' })
  await scene.hear(2000, { rid: 'a', status: 'start' })
  t.match(await scene.sweep(9000), { transitions: 0 })
})

test('runs that overlap are told apart by their ids', async (t) => {
  const scene = await jobScene(t)
  await scene.hear(1000, { status: 'start', rid: 'a' })
  await scene.hear(1100, { status: 'start', rid: 'b' })
  await scene.hear(1200, { rid: 'b' })
  t.match(await scene.sweep(1599), { transitions: 0 })
  t.match(await scene.sweep(1601), { transitions: 1 })
  t.same(await steps(scene), ['up down hung 1600'])
  const runs = 'select rid, hung_at is not null as hung from monitor_runs order by rid'
  t.same(await scene.stores.db.query(runs), [
    { rid: 'a', hung: true },
    { rid: 'b', hung: false }
  ])
})

test('a start moves no deadline', async (t) => {
  const scene = await jobScene(t)
  await scene.hear(89_900, { status: 'start' })
  await scene.sweep(90_001)
  t.same(await steps(scene), ['up down missed 90000'])
})

test('without a longest run time a start is only history', async (t) => {
  const scene = await jobScene(t)
  await scene.configure('max_runtime_seconds = null', [])
  await scene.hear(1000, { status: 'start' })
  t.match(await scene.sweep(9000), { transitions: 0 })
  t.same(await scene.stores.db.query('select from monitor_runs'), [])
})

test('a failed run that was told is not hung as well', async (t) => {
  const scene = await jobScene(t)
  await scene.hear(1000, { status: 'start' })
  await scene.hear(1100, { status: 'down' })
  await scene.sweep(9000)
  t.same(await steps(scene), ['up down reported 1100'])
})
