import { randomUUID } from 'node:crypto'
import { test } from 'tap'
import { connectRedis, requireDurability } from '../../shared/redis.ts'
import { captureLog } from '../support/captured-log.ts'
import { connectAgent } from '../support/fake-agent.ts'
import { heartbeatOf } from '../support/gateway-tenant.ts'
import { gatewayFor, openStores } from '../support/ingest.ts'
import { clusterFor } from '../support/redis-cluster.ts'
import { createTenant } from '../support/tenant.ts'

/** So many that their positions hardly lie on one node all together. */
const AGENTS = 10

test('on a Redis Cluster heartbeats are queued, and the positions of all agents are remembered', async (t) => {
  const { url } = await clusterFor(t)
  const stores = await openStores(t, { redisUrl: url })
  const tenant = await createTenant(stores.db, stores.secrets)
  const monitorId = await tenant.addMonitor()
  const senders = await Promise.all(
    Array.from({ length: AGENTS }, async () => ({ stream: randomUUID(), agent: await tenant.addAgent([monitorId]) }))
  )
  const first = await gatewayFor(t, stores)
  for (const { stream, agent } of senders) {
    const socket = await connectAgent({ url: first.url, apiKey: agent.apiKey })
    await socket.hello({ stream })
    socket.send({ type: 'heartbeats', seq: 1, sentAt: new Date().toISOString(), items: [heartbeatOf(monitorId)] })
    await socket.next('ack')
    await socket.close()
  }
  await first.stop()

  const second = await gatewayFor(t, stores)
  for (const { stream, agent } of senders) {
    const socket = await connectAgent({ url: second.url, apiKey: agent.apiKey })
    t.equal((await socket.hello({ stream, first: 1 })).acked, 1)
    await socket.close()
  }
  const { waiting } = await stores.queue.counts()
  t.ok(waiting > 0, `${waiting} jobs`)
})

test('every master of a Redis Cluster has to be durable', async (t) => {
  const { url, nodes } = await clusterFor(t)
  const { log } = captureLog()
  const { client, stop } = await connectRedis({ url, log, whenAway: 'fail' })
  t.teardown(stop)
  await t.resolves(requireDurability(client, 'require', log))
  for (const node of nodes) {
    await node.call('CONFIG', 'SET', 'appendfsync', 'everysec')
    await t.rejects(requireDurability(client, 'require', log), {
      name: 'StartupError',
      message: /127\.0\.0\.1:\d+: appendfsync is "everysec"/
    })
    await node.call('CONFIG', 'SET', 'appendfsync', 'always')
  }
})
