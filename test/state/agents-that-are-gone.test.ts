import { test } from 'tap'
import { readPresence } from '../../shared/presence.ts'
import { connectAgent } from '../support/fake-agent.ts'
import { gatewayFor, openStores } from '../support/ingest.ts'
import { stateOf } from '../support/jobs.ts'
import { type SweepScene, sweepSceneFor } from '../support/sweep.ts'
import { signedInFor } from '../support/sweep-by-api.ts'
import { createTenant } from '../support/tenant.ts'
import { waitFor } from '../support/wait-for.ts'

/** A monitor that an agent checks; it was up at 0. */
async function agentScene(t: Parameters<typeof sweepSceneFor>[0]): Promise<SweepScene & { agentId: string }> {
  const scene = await sweepSceneFor(t, { kind: 'http' })
  const { id } = await scene.tenant.addAgent([scene.monitorId])
  await scene.hear(0, { sourceId: id, way: 'socket' })
  return { ...scene, agentId: id }
}

const steps = async (scene: SweepScene) =>
  (await scene.transitions()).slice(1).map(({ step, reason, at }) => `${step} ${reason} ${at}`)

test('a monitor whose agent has no socket is unknown at its deadline, and not down', async (t) => {
  const scene = await agentScene(t)
  t.match(await scene.sweep(89), { transitions: 0 })
  t.match(await scene.sweep(91), { transitions: 1 })
  t.match(await scene.sweep(500), { transitions: 0 })
  t.same(await steps(scene), ['up unknown agent_offline 90'])
})

test('an agent that was heard after the deadline tells that the target is silent', async (t) => {
  const scene = await agentScene(t)
  await scene.connect(scene.agentId, { opened: -100, heard: 90.5 })
  await scene.sweep(92)
  t.same(await steps(scene), ['up down missed 90'])
})

test('an open socket that says nothing is waited for: until its pong', async (t) => {
  const scene = await agentScene(t)
  await scene.connect(scene.agentId, { opened: -100, heard: 80 })
  for (const second of [91, 95, 100]) t.match(await scene.sweep(second), { transitions: 0 })
  await scene.connect(scene.agentId, { opened: -100, heard: 105 })
  t.match(await scene.sweep(106), { transitions: 1 })
  t.same(await steps(scene), ['up down missed 90'])
})

test('an open socket that says nothing is waited for: until it closes', async (t) => {
  const scene = await agentScene(t)
  await scene.connect(scene.agentId, { opened: -100, heard: 80 })
  t.match(await scene.sweep(91), { transitions: 0 })
  await scene.connect(scene.agentId, null)
  await scene.sweep(93)
  t.same(await steps(scene), ['up unknown agent_offline 90'])
})

test('an agent that came back has interval and grace to tell, and then its target is silent', async (t) => {
  const scene = await agentScene(t)
  await scene.sweep(91)
  await scene.connect(scene.agentId, { opened: 100, heard: 100 })
  t.match(await scene.sweep(150), { transitions: 0 })
  await scene.connect(scene.agentId, { opened: 100, heard: 188 })
  t.match(await scene.sweep(189), { transitions: 0 })
  await scene.connect(scene.agentId, { opened: 100, heard: 191 })
  t.match(await scene.sweep(192), { transitions: 1 })
  t.same(await steps(scene), ['up unknown agent_offline 90', 'unknown down missed 190'])
})

test('an agent that comes back just before the deadline is not taken for one whose target is silent', async (t) => {
  const scene = await agentScene(t)
  await scene.connect(scene.agentId, { opened: 89, heard: 91 })
  t.match(await scene.sweep(92), { transitions: 0 })
  await scene.hear(93, { sourceId: scene.agentId, way: 'socket' })
  t.match(await scene.sweep(100), { transitions: 0 })
  t.same(await steps(scene), [])
})

test('a heartbeat ends what was unknown', async (t) => {
  const scene = await agentScene(t)
  await scene.sweep(91)
  await scene.hear(120, { sourceId: scene.agentId, way: 'socket' })
  t.same(await steps(scene), ['up unknown agent_offline 90', 'unknown up reported 120'])
})

/** What was left in the outbox. */
const alerts = async ({ stores }: SweepScene) => {
  const rows = await stores.db.query<{ row: string }>(
    `select event || case when opens then '+' else '-' end as row from alert_outbox order by id`
  )
  return rows.map(({ row }) => row)
}

test('a monitor that stands for the machine of its agent is down without it, which is told as its outage', async (t) => {
  const scene = await agentScene(t)
  const { call } = await signedInFor(t, scene)
  const changed = await call('PATCH', `/v1/monitors/${scene.monitorId}`, {
    target: 'https://example.com/',
    agentIsTarget: true
  })
  t.match(changed, { status: 200, body: { agentIsTarget: true } })
  t.match(await scene.sweep(91), { transitions: 1 })
  t.match(await scene.sweep(500), { transitions: 0 })
  const { body } = await call('GET', `/v1/monitors/${scene.monitorId}/explain`)
  t.match((body as { sentence: string }).sentence, 'The agent of the machine was not connected.')
  t.same(await alerts(scene), ['down+'])
  await scene.connect(scene.agentId, { opened: 600, heard: 600 })
  t.match(await scene.sweep(601), { transitions: 0 })
  await scene.hear(610, { sourceId: scene.agentId, way: 'socket' })
  t.same(await steps(scene), ['up down agent_offline 90', 'down up reported 610'])
  t.same(await alerts(scene), ['down+', 'down-'])
})

test('of several agents one that is connected is enough, and the choice counts for what is unknown already', async (t) => {
  const scene = await agentScene(t)
  const { id: otherId } = await scene.tenant.addAgent([scene.monitorId])
  await scene.connect(otherId, { opened: 95, heard: 95 })
  await scene.configure('agent_is_target = $2', [true])
  t.match(await scene.sweep(100), { transitions: 0 }, 'it has interval and grace to tell')
  await scene.configure('agent_is_target = $2', [false])
  await scene.connect(otherId, null)
  await scene.sweep(110)
  await scene.configure('agent_is_target = $2', [true])
  await scene.sweep(200)
  t.same(await steps(scene), ['up unknown agent_offline 90', 'unknown down agent_offline 200'])
})

test('an agent is not back because one of its monitors is said to stand for its machine', async (t) => {
  const scene = await agentScene(t)
  await scene.sweep(91)
  await scene.configure('agent_is_target = $2', [true])
  await scene.sweep(200)
  t.same(await steps(scene), ['up unknown agent_offline 90', 'unknown down agent_offline 200'])
  const open = await scene.stores.db.query('select event from alert_outbox where ended_at is null order by id')
  t.same(open, [{ event: 'agent' }, { event: 'down' }])
})

test('what comes by HTTP has no agent: silence is down, whatever the kind', async (t) => {
  const scene = await agentScene(t)
  await scene.hear(10, { way: 'http' })
  await scene.sweep(101)
  t.same(await steps(scene), ['up down missed 100'])
})

test('a monitor that is down and loses its agent is unknown from then on', async (t) => {
  const scene = await agentScene(t)
  await scene.connect(scene.agentId, { opened: -100, heard: 91 })
  await scene.sweep(92)
  await scene.connect(scene.agentId, null)
  await scene.sweep(250)
  t.same(await steps(scene), ['up down missed 90', 'down unknown agent_offline 250'])
  t.match(await stateOf(scene.stores, scene.key), { state: 'unknown' })
})

test('a gateway tells who is connected within a second, and that nobody is', async (t) => {
  const stores = await openStores(t)
  const tenant = await createTenant(stores.db, stores.secrets)
  const agent = await tenant.addAgent([await tenant.addMonitor()])
  const gateway = await gatewayFor(t, stores)
  const presence = async () => (await readPresence(stores.redis.client, stores.prefix, [agent.id])).get(agent.id)
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  const first = await waitFor(presence)
  t.ok(Math.abs(first.openedAt - Date.now()) < 2000)
  await socket.hello()
  await waitFor(async () => ((await presence())?.heardAt ?? 0) >= first.openedAt)
  await socket.close()
  await waitFor(async () => (await presence()) === undefined)
  const again = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await waitFor(presence)
  await gateway.stop()
  t.equal(await presence(), undefined)
  await again.closed
})
