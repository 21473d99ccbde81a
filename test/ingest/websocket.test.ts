import { randomUUID } from 'node:crypto'
import t from 'tap'
import { publishChange } from '../../shared/changes.ts'
import { connectAgent } from '../support/fake-agent.ts'
import { gatewayTenantFor, heartbeatOf, historyOf } from '../support/gateway-tenant.ts'
import { gatewayFor, workerFor } from '../support/ingest.ts'
import { waitFor } from '../support/wait-for.ts'

t.test('a heartbeat sent over a socket is acknowledged and becomes a row with its fields', async (t) => {
  const { stores, monitorId, agent, gateway } = await gatewayTenantFor(t)
  await workerFor(t, stores)
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  const welcome = await socket.hello()
  t.match(welcome, { acked: 0, maxBatch: 500, maxInFlight: 64, monitors: [{ monitorId, kind: 'heartbeat' }] })
  const item = heartbeatOf(monitorId, { status: 'degraded', latency: 12.5, message: 'slow ☃' })
  socket.send({ type: 'heartbeats', seq: 1, sentAt: item.timestamp, items: [item] })
  t.same(await socket.next('ack'), { type: 'ack', seq: 1 })
  const rows = await waitFor(async () => {
    const found = await historyOf(stores, monitorId)
    return found.length > 0 && found
  })
  const timestamp = new Date(String(item.timestamp))
  t.match(rows, [{ status: 2, latency: 12.5, timestamp, source_id: agent.id, message: 'slow ☃' }])
  await socket.close()
})

t.test('a bad heartbeat is rejected by its place and code, and its neighbours are stored', async (t) => {
  const { stores, tenant, monitorId, agent, gateway } = await gatewayTenantFor(t)
  const foreign = await tenant.addMonitor()
  await workerFor(t, stores)
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await socket.hello()
  const items = [
    heartbeatOf(monitorId),
    heartbeatOf(foreign),
    heartbeatOf(monitorId, { status: 'UP' }),
    heartbeatOf(monitorId, { timestamp: new Date(Date.now() + 70_000).toISOString() }),
    heartbeatOf(monitorId, { timestamp: new Date(Date.now() - 31 * 86_400_000).toISOString() }),
    'no object',
    heartbeatOf(monitorId)
  ]
  socket.send({ type: 'heartbeats', seq: 1, items })
  await socket.next('ack')
  const types = socket.frames.map(({ type }) => type)
  t.ok(types.indexOf('reject') < types.indexOf('ack'), 'the rejection comes before the acknowledgement')
  const { errors } = await socket.next('reject')
  t.same(
    errors.map(({ index, code }) => [index, code]),
    [
      [1, 'monitor_not_allowed'],
      [2, 'invalid_status'],
      [3, 'timestamp_in_future'],
      [4, 'timestamp_too_old'],
      [5, 'not_an_object']
    ]
  )
  await waitFor(async () => (await historyOf(stores, monitorId)).length === 2)
  await socket.close()
})

t.test('a frame whose every item is rejected is acknowledged all the same', async (t) => {
  const { monitorId, agent, gateway } = await gatewayTenantFor(t)
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await socket.hello()
  socket.send({ type: 'heartbeats', seq: 1, items: [heartbeatOf(monitorId, { latency: -1 })] })
  t.equal((await socket.next('ack')).seq, 1)
  socket.send({ type: 'heartbeats', seq: 2, items: [] })
  t.equal((await socket.next('ack')).seq, 2)
  await socket.close()
})

t.test('acknowledgement is cumulative: the last of many frames settles them all', async (t) => {
  const { stores, monitorId, agent, gateway } = await gatewayTenantFor(t)
  await workerFor(t, stores)
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await socket.hello()
  for (let seq = 1; seq <= 60; seq++) socket.send({ type: 'heartbeats', seq, items: [heartbeatOf(monitorId)] })
  await waitFor(() => socket.frames.some((frame) => frame.type === 'ack' && frame.seq === 60))
  await waitFor(async () => (await historyOf(stores, monitorId)).length === 60)
  await socket.close()
})

t.test('a stream goes on where it was acknowledged, on another connection and after it was forgotten', async (t) => {
  const { stores, monitorId, agent, gateway } = await gatewayTenantFor(t)
  const stream = randomUUID()
  const first = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await first.hello({ stream, first: 1 })
  for (const seq of [1, 2, 3]) first.send({ type: 'heartbeats', seq, items: [heartbeatOf(monitorId)] })
  await waitFor(() => first.frames.some((frame) => frame.type === 'ack' && frame.seq === 3))
  await first.close()

  const key = `${stores.prefix}:acked:${agent.id}:${stream}`
  await waitFor(async () => (await stores.redis.client.get(key)) === '3')
  const second = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  t.equal((await second.hello({ stream, first: 2 })).acked, 3, 'remembered')
  second.send({ type: 'heartbeats', seq: 2, items: [heartbeatOf(monitorId)] })
  t.equal((await second.next('ack')).seq, 2, 'a frame sent again is processed and acknowledged again')
  await second.close()

  await stores.redis.client.del(key)
  const third = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  t.equal((await third.hello({ stream, first: 3 })).acked, 2, 'what the agent no longer sends is settled')
  await third.close()
})

t.test('a newer socket of the same agent replaces the older one, here and on another gateway', async (t) => {
  const { stores, agent, gateway } = await gatewayTenantFor(t)
  const elsewhere = await gatewayFor(t, stores)
  const first = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await first.hello()
  const second = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  t.match(await first.closed, { code: 4409, reason: 'replaced' })
  await second.hello()
  const third = await connectAgent({ url: elsewhere.url, apiKey: agent.apiKey })
  t.match(await second.closed, { code: 4409 })
  t.ok((await third.hello()).connection)
  await third.close()
})

t.test('a service may hold ten sockets, and the eleventh is refused', async (t) => {
  const { tenant, monitorId, gateway } = await gatewayTenantFor(t)
  const service = await tenant.addAgent([monitorId], { kind: 'service' })
  const open = () => connectAgent({ url: gateway.url, apiKey: service.apiKey })
  const sockets = await Promise.all(Array.from({ length: 10 }, open))
  const refused = await open().catch((error) => error)
  t.match(refused, { status: 429, body: /too_many_connections/ })
  await Promise.all(sockets.map((socket) => socket.close()))
})

t.test('an agent is told its monitors, without push ones, and told again when they change', async (t) => {
  const { stores, tenant, gateway } = await gatewayTenantFor(t)
  const web = await tenant.addMonitor({ kind: 'http' })
  const push = await tenant.addMonitor({ kind: 'push' })
  const { id: agentId, apiKey } = await tenant.addAgent([web, push])
  const socket = await connectAgent({ url: gateway.url, apiKey })
  t.same(
    (await socket.hello()).monitors.map(({ monitorId }) => monitorId),
    [web]
  )
  await stores.db.query('update monitors set interval_seconds = 33 where id = $1', [web])
  const { organizationId } = tenant
  await publishChange(stores.redis.client, stores.prefix, { type: 'agent_changed', organizationId, agentId })
  t.match(await socket.next('monitors'), { monitors: [{ monitorId: web, intervalSeconds: 33 }] })
  await socket.close()
})

t.test('a stopping gateway lets what is under way be acknowledged and sends agents elsewhere', async (t) => {
  const { monitorId, agent, gateway } = await gatewayTenantFor(t)
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await socket.hello()
  for (let seq = 1; seq <= 20; seq++) socket.send({ type: 'heartbeats', seq, items: [heartbeatOf(monitorId)] })
  await socket.next('ack')
  const stopping = gateway.stop()
  t.match(await socket.next('drain'), { withinMs: 1000 })
  t.match(await socket.next('bye'), { code: 1012 })
  t.match(await socket.closed, { code: 1012, reason: 'restart' })
  t.ok(socket.frames.some((frame) => frame.type === 'ack' && frame.seq === 20))
  await stopping
  await t.rejects(connectAgent({ url: gateway.url, apiKey: agent.apiKey }), { code: 'ECONNREFUSED' })
})

t.test(
  'a monitor given to an agent is accepted in its next frame, even before the gateway has heard of it',
  async (t) => {
    const { stores, tenant, monitorId, agent, gateway } = await gatewayTenantFor(t)
    const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
    await socket.hello()
    const added = await tenant.addMonitor()
    await stores.db.query(
      'insert into agent_monitors (organization_id, agent_id, monitor_key) select $1, $2, key from monitors where id = $3',
      [tenant.organizationId, agent.id, added]
    )
    // The caller was read a moment ago; a second later it may be read again.
    await waitFor(async () => {
      const caller = await stores.callers.byApiKey(agent.apiKey)
      return caller !== null && (await stores.callers.refreshed(caller)).monitors.has(added)
    })
    socket.send({ type: 'heartbeats', seq: 1, items: [heartbeatOf(added), heartbeatOf(monitorId)] })
    socket.send({ type: 'heartbeats', seq: 2, items: [heartbeatOf(monitorId)] })
    await waitFor(() => socket.frames.some((frame) => frame.type === 'ack' && frame.seq === 2))
    t.notOk(socket.frames.some(({ type }) => type === 'reject'))
    await socket.close()
  }
)
