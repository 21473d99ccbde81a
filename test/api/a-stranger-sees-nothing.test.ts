import { t } from 'tap'
import { scopeOf } from '../../shared/contract/permissions.ts'
import { ROUTES } from '../../shared/contract/routes.ts'
import { apiFor } from '../support/api.ts'
import { createAgent, createCast } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'

const stores = await openStores(t)
const api = await apiFor(t, stores)
const { charlie, monitor, agent } = await createCast(api)
const scopes = ['heartbeats:write', 'heartbeats:read', 'monitors:read']
const spy = await createAgent(api, charlie.jwt, { name: 'Spy', kind: 'service', scopes })
const NEVER = '01890000-0000-7000-8000-000000000000'
const BODIES: Record<string, object> = {
  patchAgent: { name: 'Mine' },
  patchMember: { role: 'member' },
  patchMonitor: { name: 'Mine' },
  patchChannel: { name: 'Mine' },
  patchMaintenance: { title: 'Mine' }
}

/** Every route that names something of an organization in its path. */
const named = Object.entries(ROUTES).filter(([, route]) => route.path.includes('{id}'))

for (const [name, { method, path, auth }] of named) {
  const id = path.includes('/agents/') ? agent.id : monitor.id
  t.test(`${method} ${path} of another organization is answered like one that never was`, async (t) => {
    const credentials = auth !== 'none' && scopeOf(auth) === null ? [charlie.jwt] : [charlie.jwt, spy.apiKey]
    for (const as of credentials) {
      const call = (wanted: string) => api.call(method, path.replace('{id}', wanted), { as, json: BODIES[name] })
      const foreign = expectProblem(t, await call(id), 404, 'not_found')
      const never = expectProblem(t, await call(NEVER), 404, 'not_found')
      t.same({ ...foreign, instance: '' }, { ...never, instance: '' })
      expectProblem(t, await call('not-an-id'), 404, 'not_found')
    }
  })

  t.test(`${method} ${path} needs a credential`, async (t) => {
    const answer = await api.call(method, path.replace('{id}', id), { json: BODIES[name] })
    expectProblem(t, answer, 401, 'unauthorized')
    t.equal(answer.headers.get('www-authenticate'), 'Bearer realm="pulsegate"')
  })
}

t.test("a stranger's lists hold nothing of ours", async (t) => {
  for (const path of ['/v1/monitors', '/v1/agents']) {
    const { body } = await api.call('GET', path, { as: charlie.jwt })
    t.notMatch(JSON.stringify(body), new RegExp(`${monitor.id}|${agent.id}`))
  }
})

t.test('a stranger can neither read nor write the history of our monitor', async (t) => {
  const heartbeat = { monitorId: monitor.id, status: 'down', latency: 1, timestamp: new Date().toISOString() }
  for (const as of [charlie.jwt, spy.apiKey]) {
    expectProblem(t, await api.call('GET', `/api/heartbeats?monitorId=${monitor.id}`, { as }), 404, 'not_found')
    const posted = await api.call('POST', '/api/heartbeats', { as, json: heartbeat })
    const body = expectProblem(t, posted, 422, 'heartbeats_rejected')
    t.match(body, { rejected: [{ index: 0, code: 'monitor_not_allowed' }] })
  }
  t.same(await stores.queue.counts(), { waiting: 0, active: 0, delayed: 0, failed: 0 })
})
