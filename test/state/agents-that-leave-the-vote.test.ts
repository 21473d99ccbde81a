import { test } from 'tap'
import type { HeartbeatStatus } from '../../shared/protocol/heartbeat.ts'
import { stateOf } from '../support/jobs.ts'
import { type SweepScene, sweepSceneFor } from '../support/sweep.ts'
import { signedInFor } from '../support/sweep-by-api.ts'

interface VoteScene extends SweepScene {
  /** An agent reports, with its socket open since long. */
  say(agent: string, second: number, status: HeartbeatStatus): Promise<void>
  /** Its socket is still open. */
  stay(agent: string, second: number): Promise<void>
  /** Its socket is closed; it was last heard of at that second. */
  leave(agent: string, second: number): Promise<void>
  steps(): Promise<string[]>
}

/** A monitor that agents called a, b and c check, once an hour unless told otherwise. */
async function voteSceneFor(
  t: Parameters<typeof sweepSceneFor>[0],
  { quorum = 'any', intervalSeconds = 3600, recoveries = 1 } = {}
): Promise<VoteScene> {
  const scene = await sweepSceneFor(t, { kind: 'http', intervalSeconds })
  const target = 'https://example.com/'
  await scene.configure('quorum = $2, recoveries = $3, target = $4', [quorum, recoveries, target])
  const ids = new Map<string, string>()
  for (const name of 'abc') ids.set(name, (await scene.tenant.addAgent([scene.monitorId])).id)
  const idOf = (name: string) => ids.get(name) ?? name
  return {
    ...scene,
    say: async (agent, second, status) => {
      await scene.connect(idOf(agent), { opened: -100, heard: second })
      await scene.hear(second, { sourceId: idOf(agent), way: 'socket', status })
    },
    stay: (agent, second) => scene.connect(idOf(agent), { opened: -100, heard: second }),
    leave: async (agent, second) => {
      await scene.connect(idOf(agent), null)
      const seen = [idOf(agent), new Date(scene.at(second))]
      await scene.stores.db.query('update agents set last_seen_at = $2 where id = $1', seen)
    },
    steps: async () => (await scene.transitions()).slice(1).map(({ step, reason, at }) => `${step} ${reason} ${at}`)
  }
}

test('an agent that is offline leaves the vote, and one that is only away for a moment does not', async (t) => {
  const scene = await voteSceneFor(t)
  await scene.say('b', 0, 'up')
  await scene.say('a', 1, 'down')
  await scene.leave('a', 5)
  await scene.stay('b', 60)
  for (const second of [6, 30, 64]) t.match(await scene.sweep(second), { transitions: 0 })
  t.match(await scene.sweep(66), { transitions: 1 })
  t.same(await scene.steps(), ['up down reported 1', 'down up reported 66'])
  t.match(await scene.sweep(200), { transitions: 0 })
})

test('its heartbeat brings it back into the vote, even when it says what was said last', async (t) => {
  const scene = await voteSceneFor(t, { quorum: 'majority' })
  for (const [second, agent] of [...'cba'].entries()) await scene.say(agent, second, agent === 'c' ? 'up' : 'down')
  t.same(await scene.steps(), ['up down reported 2'])
  await scene.leave('a', 3)
  await scene.say('c', 60, 'up')
  await scene.say('b', 61, 'down')
  await scene.sweep(70)
  t.same(await scene.steps(), ['up down reported 2', 'down up reported 70'], 'one of two is no majority')
  await scene.say('a', 80, 'down')
  t.same((await scene.steps()).slice(2), ['up down reported 80'])
})

test('who left while all agreed is found to be gone as soon as they do not', async (t) => {
  const scene = await voteSceneFor(t, { quorum: 'all' })
  await scene.say('a', 0, 'up')
  await scene.say('b', 1, 'up')
  await scene.leave('b', 2)
  t.match(await scene.sweep(600), { judged: 0 })
  await scene.say('a', 700, 'down')
  t.match(await scene.sweep(701), { transitions: 1 })
  t.same(await scene.steps(), ['up down reported 701'])
})

test('nobody leaves the vote because nothing could get in for a while', async (t) => {
  const scene = await voteSceneFor(t, { quorum: 'all' })
  await scene.say('b', 0, 'up')
  await scene.say('a', 1, 'down')
  await scene.leave('b', 5)
  await scene.leave('a', 5)
  await scene.sweep(10)
  await scene.sweep(20, { ingest: 'away' })
  await scene.say('a', 609, 'down')
  const back = { stamp: 610, since: 600 }
  t.match(await scene.sweep(610, { ingest: back }), { transitions: 0 })
  await scene.say('b', 611, 'up')
  t.match(await scene.sweep(800, { ingest: { ...back, stamp: 800 } }), { transitions: 0 })
})

test('when all of them leave, nothing changes before the deadline, and then the monitor is unknown', async (t) => {
  const scene = await voteSceneFor(t, { intervalSeconds: 300 })
  await scene.say('b', 0, 'up')
  await scene.say('a', 1, 'down')
  for (const agent of 'ab') await scene.leave(agent, 2)
  for (const second of [3, 100, 200, 300]) t.match(await scene.sweep(second), { transitions: 0 })
  await scene.sweep(332)
  t.same(await scene.steps(), ['up down reported 1', 'down unknown agent_offline 332'])
  await scene.say('b', 340, 'up')
  t.same((await scene.steps()).slice(2), ['unknown up reported 340'])
})

test('who leaves confirms nothing: the heartbeats after it do', async (t) => {
  const scene = await voteSceneFor(t, { recoveries: 2 })
  await scene.say('b', 0, 'up')
  await scene.say('a', 1, 'down')
  await scene.leave('a', 1)
  t.match(await scene.sweep(100), { transitions: 0 })
  await scene.say('b', 110, 'up')
  await scene.say('c', 111, 'up')
  t.same(await scene.steps(), ['up down reported 1', 'down up reported 111'])
})

test('an agent that is not to check the monitor any more votes no more', async (t) => {
  const scene = await voteSceneFor(t)
  await scene.say('b', 0, 'up')
  await scene.say('a', 1, 'down')
  const { last_source_id: a } = await stateOf(scene.stores, scene.key)
  await scene.stores.db.query('delete from agents where id = $1', [a])
  t.match(await scene.sweep(3), { transitions: 1 })
  t.same(await scene.steps(), ['up down reported 1', 'down up reported 3'])
})

test('a changed rule counts at once, for those who disagree', async (t) => {
  const scene = await voteSceneFor(t)
  const { call, moveTo } = await signedInFor(t, scene)
  await scene.say('b', 0, 'up')
  await scene.say('a', 1, 'down')
  await scene.sweep(2)
  moveTo(10)
  t.match(await call('PATCH', `/v1/monitors/${scene.monitorId}`, { quorum: 'majority' }), {
    status: 200,
    body: { quorum: 'majority' }
  })
  t.match(await scene.sweep(11), { transitions: 1 })
  t.same(await scene.steps(), ['up down reported 1', 'down up reported 11'])
})
