import { type Test, t } from 'tap'
import { presenceIndex, presenceKey, writePresence } from '../../shared/presence.ts'
import { apiFor, type TestApi } from '../support/api.ts'
import { createAgent, createCast } from '../support/cast.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { type Seen, watchLive } from '../support/live-watch.ts'
import { expectProblem } from '../support/problems.ts'
import { waitFor } from '../support/wait-for.ts'

interface WatchOptions {
  as?: string
  to?: TestApi
  query?: string
  lastEventId?: string
}

const stores = await openStores(t)
const api = await apiFor(t, stores)
const { alice, bob, charlie, monitor, pushMonitor, agent } = await createCast(api)
await workerFor(t, stores)

const watch = (t: Test, { as = bob.jwt, to = api, ...options }: WatchOptions = {}) => watchLive(t, to, as, options)

let last = Date.now()
async function report(status: string, monitorId = monitor.id): Promise<void> {
  last = Math.max(last + 1, Date.now())
  const json = { monitorId, status, latency: 3, timestamp: new Date(last).toISOString() }
  const answer = await api.call('POST', '/api/heartbeats', { as: alice.jwt, json })
  if (answer.status !== 202) throw new Error(JSON.stringify(answer))
}

t.test('state changes and heartbeats are told as they happen, and to nobody else', async (t) => {
  const [ours, theirs] = [await watch(t), await watch(t, { as: charlie.jwt })]
  t.equal(ours.response.headers['content-type'], 'text/event-stream')
  await ours.come('resync')
  await theirs.come('resync')
  await report('up')
  await report('down')
  const states = await ours.come('state', 2)
  t.match(states, [
    { id: /^\d+-\d+\.\d+$/, data: { monitorId: monitor.id, from: 'pending', to: 'up', reason: 'reported', at: /Z$/ } },
    { data: { from: 'up', to: 'down' } }
  ])
  t.match((await ours.come('heartbeat'))[0]?.data, {
    monitorId: monitor.id,
    latency: 3,
    source: alice.id,
    message: null
  })
  t.same([...theirs.events('state'), ...theirs.events('heartbeat')], [])
})

t.test('who comes back misses nothing, and who was away too long is told so', async (t) => {
  const before = await watch(t)
  await report('up')
  const [first] = await before.come('state')
  await before.close()
  await report('degraded')
  const after = await watch(t, { lastEventId: first?.id ?? '' })
  t.match((await after.come('state'))[0]?.data, { from: 'up', to: 'degraded' })
  t.same(after.events('resync'), [])
  const late = await watch(t, { lastEventId: `${Date.now() - 400_000}-0.0` })
  await late.come('resync')
})

t.test('a pause and a resume are told at once', async (t) => {
  const stream = await watch(t)
  for (const action of ['pause', 'resume', 'resume']) {
    await api.call('POST', `/v1/monitors/${pushMonitor.id}/${action}`, { as: alice.jwt })
  }
  const json = { action: 'pause', ids: [pushMonitor.id] }
  await api.call('POST', '/v1/monitors/bulk', { as: alice.jwt, json })
  const data = { monitorId: pushMonitor.id, at: /Z$/ }
  t.match(await stream.come('state', 3), [
    { id: /^\d+-\d+\.\d+$/, data: { ...data, from: 'pending', to: 'paused', reason: 'paused' } },
    { data: { ...data, from: 'paused', to: 'pending', reason: 'resumed' } },
    { data: { ...data, from: 'pending', to: 'paused', reason: 'paused' } }
  ])
  t.equal(stream.events('state').length, 3, 'what changed nothing is not told')
})

t.test('a pause that a heartbeat ends is told as well', async (t) => {
  const path = `/v1/monitors/${pushMonitor.id}`
  await api.call('PATCH', path, { as: alice.jwt, json: { resumeOnPing: true } })
  const stream = await watch(t)
  await api.call('POST', new URL(pushMonitor.pushUrl ?? '').pathname)
  const [told] = await stream.come('state')
  t.match(told?.data, { monitorId: pushMonitor.id, from: 'paused', to: 'up', reason: 'reported' })
})

t.test('agents that come, go and lose their key are told, also to who was away meanwhile', async (t) => {
  const before = await watch(t)
  const other = await createAgent(api, alice.jwt, { name: 'Rack 2' })
  const [first] = await before.come('presence')
  t.match(first, { id: /^\d+-\d+\.\d+$/, data: { agentId: other.id, presence: 'never_connected', at: /Z$/ } })
  await before.close()
  const { client } = stores.redis
  const now = Date.now()
  await client.sadd(presenceIndex(stores.prefix), 'a-gateway')
  const heard = writePresence({ openedAt: now, heardAt: now })
  await client.hset(presenceKey(stores.prefix, 'a-gateway'), other.id, heard)
  const watching = await watch(t)
  await watching.come('presence')
  await api.call('DELETE', `/v1/agents/${other.id}`, { as: alice.jwt })
  await watching.come('presence', 2)
  const after = await watch(t, { lastEventId: first?.id ?? '' })
  t.match(await after.come('presence', 2), [
    { data: { agentId: other.id, presence: 'online' } },
    { data: { agentId: other.id, presence: 'revoked' } }
  ])
  t.same(after.events('resync'), [])
})

t.test('a service that reports by HTTP is told to be there, and not taken for gone while it does', async (t) => {
  const service = await createAgent(api, alice.jwt, { name: 'Deploys', kind: 'service', monitorIds: [monitor.id] })
  const stream = await watch(t)
  const json = { monitorId: monitor.id, status: 'up', latency: 1, timestamp: new Date().toISOString() }
  await api.call('POST', '/api/heartbeats', { as: service.apiKey, json })
  const ofService = () => stream.events('presence').filter(({ data }) => data.agentId === service.id)
  await waitFor(() => ofService().some(({ data }) => data.presence === 'online'))
  const called = (secondsAgo: number) =>
    stores.db.query('update api_keys set last_used_at = $2 where agent_id = $1', [
      service.id,
      new Date(Date.now() - secondsAgo * 1000)
    ])
  await called(125)
  t.match((await api.call('GET', `/v1/agents/${service.id}`, { as: alice.jwt })).body, { presence: 'online' })
  await called(200)
  await waitFor(() => ofService().some(({ data }) => data.presence !== 'online' && data.presence !== 'never_connected'))
  t.match(ofService().at(-1)?.data, { presence: 'offline' })
})

t.test('maintenance that begins, is changed or ends is told', async (t) => {
  const stream = await watch(t)
  const [from, to] = [new Date(Date.now() - 1000).toISOString(), new Date(Date.now() + 3_600_000).toISOString()]
  const json = { title: 'Update', from, to, monitorIds: [monitor.id] }
  const { body } = await api.call('POST', '/v1/maintenance', { as: alice.jwt, json })
  const { id: maintenanceId } = body as { id: string }
  await stream.come('maintenance')
  await api.call('PATCH', `/v1/maintenance/${maintenanceId}`, { as: alice.jwt, json: { title: 'Move' } })
  await stream.come('maintenance', 2)
  await api.call('DELETE', `/v1/maintenance/${maintenanceId}`, { as: alice.jwt })
  t.match(await stream.come('maintenance', 3), [
    { id: /^\d+-\d+\.\d+$/, data: { maintenanceId, active: true, at: /Z$/ } },
    { data: { maintenanceId, active: true } },
    { data: { maintenanceId, active: false } }
  ])
})

t.test('who comes back to a Redis that has lost what was told is told so', async (t) => {
  const ahead = await watch(t, { lastEventId: `${Date.now() + 60_000}-0.0` })
  await ahead.come('resync')
  await stores.redis.client.del(`${stores.prefix}:live:${alice.organizationId}`)
  const lost = await watch(t, { lastEventId: `${Date.now() - 1000}-0.0` })
  await lost.come('resync')
  await report('down')
  await lost.come('state')
})

t.test('heartbeats of the named monitor come in full, of others the newest of a second', async (t) => {
  const named = await watch(t, { query: `?monitorId=${monitor.id}` })
  const other = await watch(t)
  await waitFor(async () => {
    await report('up')
    return named.events('heartbeat').length > 0
  })
  const stamps = (seen: Seen[]) => seen.map(({ data }) => data.timestamp)
  const base = Date.now()
  const items = Array.from({ length: 40 }, (_, i) => ({
    monitorId: monitor.id,
    status: 'up',
    latency: i,
    timestamp: new Date(base + i).toISOString()
  }))
  last = base + 100
  const quiet = performance.now() + 1100
  await waitFor(() => performance.now() > quiet)
  await api.call('POST', '/api/heartbeats', { as: alice.jwt, json: items })
  await waitFor(() => stamps(named.events('heartbeat')).includes(items[39]?.timestamp))
  await waitFor(() => stamps(other.events('heartbeat')).includes(items[39]?.timestamp))
  for (const { timestamp } of items) t.ok(stamps(named.events('heartbeat')).includes(timestamp))
  t.ok(items.filter(({ timestamp }) => stamps(other.events('heartbeat')).includes(timestamp)).length < 3)
})

t.test('only people may watch, and only their own', async (t) => {
  expectProblem(t, await api.call('GET', '/v1/live'), 401, 'unauthorized')
  expectProblem(t, await api.call('GET', '/v1/live', { as: agent.apiKey }), 403, 'forbidden')
  const foreign = await api.call('GET', `/v1/live?monitorId=${monitor.id}`, { as: charlie.jwt })
  expectProblem(t, foreign, 404, 'not_found')
})

t.test('a stream ends when the server stops', async (t) => {
  const addresses = { apiUrl: api.apiUrl, siteUrl: api.apiUrl }
  const server = await apiFor(t, stores, { addresses })
  const stream = await watch(t, { to: server })
  await waitFor(() => stream.text() !== '')
  const began = performance.now()
  await server.stop()
  t.ok(performance.now() - began < 3000)
  await waitFor(() => stream.ended())
})
