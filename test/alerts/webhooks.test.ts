import { type Test, t } from 'tap'
import { openDeliveries } from '../support/alert-log.ts'
import { apiFor } from '../support/api.ts'
import { createCast, createMonitor } from '../support/cast.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { drained } from '../support/jobs.ts'
import { waitFor } from '../support/wait-for.ts'
import { isSigned, type ReceivedMessage, receiverFor } from '../support/webhook-receiver.ts'

const stores = await openStores(t)
const api = await apiFor(t, stores)
const { alice } = await createCast(api)
await workerFor(t, stores)
const deliveries = openDeliveries(api, alice.jwt)

async function sceneOf(t: Test, fields: object = {}) {
  const receiver = await receiverFor(t)
  const channel = await deliveries.createChannel({ url: receiver.url, ...fields })
  t.teardown(() => deliveries.deleteChannel(channel.id))
  const monitor = await createMonitor(api, alice.jwt, {
    name: 'Shop',
    kind: 'heartbeat',
    tags: ['web'],
    ...{ intervalSeconds: 3600 }
  })
  const come = (count: number) =>
    waitFor(() => receiver.received.length >= count && receiver.received, { what: `${count} messages` })
  return { receiver, channel, monitor, come }
}

let last = Date.now()
/** Reports as Alice; each heartbeat is newer than the one before. */
async function report(monitorId: string, status: string): Promise<object> {
  last = Math.max(last + 1, Date.now())
  const heartbeat = { monitorId, status, latency: 1, timestamp: new Date(last).toISOString() }
  const answer = await api.call('POST', '/api/heartbeats', { as: alice.jwt, json: heartbeat })
  if (answer.status !== 202) throw new Error(JSON.stringify(answer))
  await drained(stores)
  return heartbeat
}

t.test('an outage and its end reach the receiver, signed', async (t) => {
  const { channel, monitor, come } = await sceneOf(t)
  await report(monitor.id, 'up')
  const heartbeat = await report(monitor.id, 'down')
  await api.call('POST', '/api/heartbeats', { as: alice.jwt, json: heartbeat })
  await report(monitor.id, 'up')
  const [down, up] = (await come(2)) as [ReceivedMessage, ReceivedMessage]
  t.ok(isSigned(down, channel.secret) && isSigned(up, channel.secret))
  t.match(down.body, {
    type: 'monitor.state_changed',
    monitor: { id: monitor.id, name: 'Shop', kind: 'heartbeat', tags: ['web'], state: 'down' },
    transition: { from: 'up', to: 'down', reason: 'reported', at: /Z$/ },
    incident: { from: /Z$/, to: null }
  })
  t.match(up.body, {
    transition: { from: 'down', to: 'up' },
    incident: { from: (down.body as { transition: { at: string } }).transition.at }
  })
  const log = await waitFor(async () => {
    const rows = await deliveries.of(channel.id)
    return rows.every(({ status }) => status === 'delivered') && rows
  })
  t.same(
    log.map(({ id }) => id).sort(),
    [down.headers['webhook-id'], up.headers['webhook-id']].sort(),
    'and nothing else'
  )
})

t.test('a receiver that hangs delays no other', async (t) => {
  const { receiver, monitor, come } = await sceneOf(t)
  const silent = await sceneOf(t)
  silent.receiver.answer = () => undefined
  await report(monitor.id, 'down')
  await silent.come(1)
  await report(monitor.id, 'up')
  t.equal((await come(2)).length, 2)
  t.equal(silent.receiver.received.length, 1, 'the hanging one still waits for its first answer')
  t.ok(receiver.received)
})

t.test('what fails is tried again, with the same id, a while later', async (t) => {
  const { receiver, channel, monitor, come } = await sceneOf(t)
  receiver.answer = (response) => response.writeHead(500).end('not today')
  await report(monitor.id, 'down')
  const [failed] = await waitFor(async () => {
    const rows = await deliveries.of(channel.id)
    return rows[0]?.statusCode === 500 && rows
  })
  t.match(failed, { status: 'waiting', attempts: 1, error: 'Answered 500.', response: 'not today' })
  const waitMs = Date.parse(failed?.nextAttemptAt ?? '') - Date.parse(failed?.lastAttemptAt ?? '')
  t.ok(waitMs > 4000 && waitMs < 7000, `${waitMs}`)
  receiver.answer = (response) => response.writeHead(200).end()
  await stores.db.query('update alert_deliveries set next_at = now() where channel_id = $1', [channel.id])
  const [first, second] = await come(2)
  t.equal(second?.headers['webhook-id'], first?.headers['webhook-id'])
  t.ok(second && isSigned(second, channel.secret))
  await waitFor(async () => (await deliveries.of(channel.id))[0]?.status === 'delivered')
})

t.test('a message is given up after 24 hours, and sent again when somebody asks for it', async (t) => {
  const { receiver, channel, monitor, come } = await sceneOf(t)
  receiver.answer = (response) => response.writeHead(500).end()
  await report(monitor.id, 'down')
  await waitFor(async () => (await deliveries.of(channel.id))[0]?.statusCode === 500)
  await stores.db.query(
    "update alert_deliveries set next_at = now(), created_at = created_at - interval '24 hours' where channel_id = $1",
    [channel.id]
  )
  await waitFor(async () => (await deliveries.of(channel.id))[0]?.status === 'failed')
  const [failed] = await deliveries.of(channel.id)
  t.match(failed, { status: 'failed', attempts: 2, nextAttemptAt: null })
  receiver.answer = (response) => response.writeHead(204).end()
  const resent = await deliveries.resend(channel.id, failed?.id ?? '')
  t.match(resent, { status: 202, body: { id: failed?.id, status: 'waiting' } })
  const sent = await come(3)
  t.equal(sent[2]?.headers['webhook-id'], failed?.id)
  t.equal(sent[2]?.text, failed?.body)
  await waitFor(async () => (await deliveries.of(channel.id))[0]?.status === 'delivered')
  const { body } = await api.call('GET', `/v1/audit?targetId=${channel.id}`, { as: alice.jwt })
  t.match(body, { data: [{ action: 'channel.message_resent', details: { deliveryId: failed?.id } }, {}] })
})

t.test('an outage within maintenance is told when the maintenance ends', async (t) => {
  const { receiver, monitor, come } = await sceneOf(t)
  const [from, to] = [new Date(Date.now() - 60_000).toISOString(), new Date(Date.now() + 3_600_000).toISOString()]
  const json = { title: 'Update', from, to, monitorIds: [monitor.id] }
  const { body } = await api.call('POST', '/v1/maintenance', { as: alice.jwt, json })
  await report(monitor.id, 'down')
  const [row] = await stores.db.query<{ status: string }>('select status from alert_outbox order by id desc limit 1')
  t.equal(row?.status, 'held')
  t.equal(receiver.received.length, 0)
  await api.call('DELETE', `/v1/maintenance/${(body as { id: string }).id}`, { as: alice.jwt })
  t.match((await come(1))[0]?.body, { monitor: { id: monitor.id }, transition: { to: 'down' } })
})

t.test('what was muted is told when its parent is back and it is still down', async (t) => {
  const { monitor, come } = await sceneOf(t)
  const parent = await createMonitor(api, alice.jwt, { name: 'Router', kind: 'heartbeat' })
  await stores.db.query(
    `insert into monitor_parents (organization_id, monitor_key, parent_key)
     select c.organization_id, c.key, p.key from monitors c, monitors p where c.id = $1 and p.id = $2`,
    [monitor.id, parent.id]
  )
  await report(parent.id, 'down')
  await report(monitor.id, 'down')
  await report(parent.id, 'up')
  await come(2)
  const status = async () =>
    (
      await stores.db.query<{ status: string }>(
        'select o.status from alert_outbox o join monitors m on m.key = o.monitor_key where m.id = $1',
        [monitor.id]
      )
    )[0]?.status
  await waitFor(async () => (await status()) === 'held', { timeoutMs: 15_000 })
  await stores.db.query("update alert_outbox set due_at = now() where status = 'held'")
  const bodies = (await come(3)).map(({ body }) => (body.monitor as { id: string }).id)
  t.same(bodies, [parent.id, parent.id, monitor.id])
})

t.test('of a monitor that fails a moment before its parent people are not told, else they are', async (t) => {
  const { monitor, come, receiver } = await sceneOf(t)
  const parent = await createMonitor(api, alice.jwt, { name: 'Router', kind: 'heartbeat' })
  const json = { parentIds: [parent.id] }
  await api.call('PATCH', `/v1/monitors/${monitor.id}`, { as: alice.jwt, json })
  const told = (count: number) =>
    come(count).then((messages) => messages.slice(count - 1).map(({ body }) => (body.monitor as { id: string }).id))
  for (const id of [parent.id, monitor.id]) await report(id, 'up')
  await report(monitor.id, 'down')
  t.equal(receiver.received.length, 0)
  await report(parent.id, 'up')
  t.same(await told(1), [monitor.id])
  await report(monitor.id, 'up')
  t.same(await told(2), [monitor.id])
  await report(monitor.id, 'down')
  await report(parent.id, 'down')
  t.same(await told(3), [parent.id])
  const muted = "select from alert_outbox where status = 'muted' and ended_at is null"
  await waitFor(async () => (await stores.db.query(muted)).length === 1)
  t.equal(receiver.received.length, 3)
})

t.test('a channel hears only of what it asked for', async (t) => {
  const { receiver, monitor } = await sceneOf(t, { events: ['degraded'] })
  const other = await sceneOf(t)
  await report(monitor.id, 'down')
  await report(monitor.id, 'up')
  await report(monitor.id, 'degraded')
  await waitFor(() => receiver.received.length === 1)
  await other.come(2)
  t.match(receiver.received[0]?.body, { transition: { from: 'up', to: 'degraded' } })
  t.notMatch(receiver.received[0]?.body, { incident: {} })
})
