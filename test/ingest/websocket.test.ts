import t, { type Test } from 'tap'
import type { Stores } from '../support/ingest.ts'
import { gatewayFor, openStores, workerFor } from '../support/ingest.ts'
import { connectAgent } from '../support/fake-agent.ts'
import { createTenant } from '../support/tenant.ts'
import { waitFor } from '../support/wait-for.ts'

interface Row {
  status: number
  latency: number | null
  timestamp: Date
  source_id: string
  message: string | null
}

async function rowsOf(stores: Stores, monitorId: string): Promise<Row[]> {
  return stores.db.query<Row>(
    `select h.status, h.latency, h."timestamp", h.source_id, h.message from heartbeats h
     join monitors m on m.key = h.monitor_key where m.id = $1 order by h."timestamp"`,
    [monitorId]
  )
}

async function setUp(t: Test) {
  const stores = await openStores(t)
  const tenant = await createTenant(stores.db, stores.secrets)
  const monitorId = await tenant.addMonitor()
  const agent = await tenant.addAgent([monitorId])
  const gateway = await gatewayFor(t, stores)
  return { stores, tenant, monitorId, agent, gateway }
}

t.test('a heartbeat sent over a socket is acknowledged and becomes a row with its fields', async (t) => {
  const { stores, monitorId, agent, gateway } = await setUp(t)
  await workerFor(t, stores)
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  const welcome = await socket.hello()
  t.match(welcome, { acked: 0, maxBatch: 500, maxInFlight: 64, monitors: [{ monitorId, kind: 'heartbeat' }] })
  const timestamp = new Date().toISOString()
  const item = { monitorId, status: 'degraded', latency: 12.5, timestamp, message: 'slow ☃' }
  socket.send({ type: 'heartbeats', seq: 1, sentAt: timestamp, items: [item] })
  t.same(await socket.next('ack'), { type: 'ack', seq: 1 })
  const rows = await waitFor(async () => {
    const found = await rowsOf(stores, monitorId)
    return found.length > 0 && found
  })
  t.match(rows, [{ status: 2, latency: 12.5, timestamp: new Date(timestamp), source_id: agent.id, message: 'slow ☃' }])
  await socket.close()
})
