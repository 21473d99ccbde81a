import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { createAgent, createMonitor, signUp } from '../support/cast.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { waitFor } from '../support/wait-for.ts'

interface Page {
  data: object[]
}

t.test('a heartbeat that was accepted comes back as history and as the state', async (t) => {
  const stores = await openStores(t)
  const api = await apiFor(t, stores)
  await workerFor(t, stores)
  const { jwt } = await signUp(api, 'Alice')
  const monitor = await createMonitor(api, jwt, { name: 'Backup', kind: 'heartbeat' })
  const service = await createAgent(api, jwt, { name: 'Cron', kind: 'service', monitorIds: [monitor.id] })
  const timestamp = new Date().toISOString()

  const posted = await api.call('POST', '/api/heartbeats', {
    as: service.apiKey,
    json: { monitorId: monitor.id, status: 'up', latency: 12.5, timestamp, message: 'fine' }
  })
  t.equal(posted.status, 202)
  t.same(posted.body, { accepted: 1, rejected: [] })

  const [row] = await waitFor(async () => {
    const { body } = await api.call('GET', `/api/heartbeats?monitorId=${monitor.id}`, { as: jwt })
    const { data } = body as Page
    return data.length > 0 && data
  })
  t.match(row, { monitorId: monitor.id, status: 'up', latency: 12.5, timestamp, source: service.id, message: 'fine' })
  const { body: now } = await api.call('GET', `/v1/monitors/${monitor.id}`, { as: jwt })
  t.match(now, { state: 'up', lastHeartbeatAt: String })
  const { body: transitions } = await api.call('GET', `/v1/monitors/${monitor.id}/transitions`, { as: jwt })
  t.match((transitions as Page).data, [{ from: 'pending', to: 'up' }])
})
