import { randomUUID } from 'node:crypto'
import { t } from 'tap'
import type { AgentAnswer } from '../../shared/contract/agents.ts'
import { looksLikeApiKey } from '../../shared/identity/api-key.ts'
import { apiFor } from '../support/api.ts'
import { createAgent, createCast, createMonitor } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'
import { waitFor } from '../support/wait-for.ts'

const stores = await openStores(t)
const api = await apiFor(t, stores)
const { alice, bob, charlie, agent, monitor } = await createCast(api)
const create = (json: object) => api.call('POST', '/v1/agents', { as: alice.jwt, json: { name: 'Cron', ...json } })
const read = async (id: string) => (await api.call('GET', `/v1/agents/${id}`, { as: alice.jwt })).body as AgentAnswer
const report = (apiKey: string, monitorId = monitor.id) =>
  api.call('POST', '/api/heartbeats', {
    as: apiKey,
    json: { monitorId, status: 'up', latency: 1, timestamp: new Date().toISOString() }
  })

t.test('an agent is created with a key that is shown once', async (t) => {
  const { status, body, headers } = await create({ kind: 'agent', monitorIds: [monitor.id, monitor.id] })
  t.equal(status, 201)
  t.equal(headers.get('cache-control'), 'no-store')
  t.match(body, { name: 'Cron', kind: 'agent', monitorIds: [monitor.id], scopes: ['heartbeats:write'] })
  t.match(body, { presence: 'never_connected', version: null, lastSeenAt: null })
  const { apiKey, id } = body as { apiKey: string; id: string }
  t.match(apiKey, /^pga_/)
  t.ok(looksLikeApiKey(apiKey))
  t.notOk('apiKey' in (await read(id)))
  const { body: list } = await api.call('GET', '/v1/agents', { as: alice.jwt })
  t.notMatch(JSON.stringify(list), /pg[as]_/)
  const [kept] = await stores.db.query('select * from api_keys where agent_id = $1', [id])
  t.notMatch(JSON.stringify(kept), apiKey.slice(8, -4))
})

t.test('a new key is valid at once', async (t) => {
  const { apiKey } = await createAgent(api, alice.jwt, { name: 'Now', kind: 'service', monitorIds: [monitor.id] })
  t.match(apiKey, /^pgs_/)
  t.equal((await report(apiKey)).status, 202)
})

const refused: Array<[fields: object, fault: string]> = [
  [{ kind: 'robot' }, '/kind invalid_value'],
  [{}, '/kind missing_field'],
  [{ kind: 'agent', name: '' }, '/name too_short'],
  [{ kind: 'agent', scopes: ['everything'] }, '/scopes/0 invalid_value'],
  [{ kind: 'agent', scopes: [] }, '/scopes too_short'],
  [{ kind: 'agent', monitorIds: ['x'] }, '/monitorIds/0 invalid_value'],
  [{ kind: 'agent', monitorIds: [monitor.id, randomUUID()] }, '/monitorIds/1 monitor_not_allowed'],
  [{ kind: 'agent', apiKey: 'pga_mine' }, '/apiKey unknown_field']
]
for (const [fields, fault] of refused) {
  t.test(`${JSON.stringify(fields).slice(0, 40)} is refused as ${fault}`, async (t) => {
    t.same(faultsOf(expectProblem(t, await create(fields), 422, 'validation_failed')), [fault])
  })
}

t.test("another organization's monitor cannot be put into a set", async (t) => {
  const foreign = await createMonitor(api, charlie.jwt, { name: 'Theirs', kind: 'heartbeat' })
  const created = await create({ kind: 'agent', monitorIds: [foreign.id] })
  t.same(faultsOf(expectProblem(t, created, 422, 'validation_failed')), ['/monitorIds/0 monitor_not_allowed'])
  const patch = { as: alice.jwt, json: { monitorIds: [foreign.id] } }
  expectProblem(t, await api.call('PATCH', `/v1/agents/${agent.id}`, patch), 422, 'validation_failed')
})

t.test('a member may not touch agents', async (t) => {
  const one = `/v1/agents/${agent.id}`
  const calls = [
    ['GET', '/v1/agents'],
    ['POST', '/v1/agents'],
    ['GET', one],
    ['PATCH', one],
    ['DELETE', one],
    ['POST', `${one}/rotate`]
  ]
  for (const [method = '', path = ''] of calls) {
    const json = method === 'POST' || method === 'PATCH' ? {} : undefined
    expectProblem(t, await api.call(method, path, { as: bob.jwt, json }), 403, 'forbidden')
  }
})

t.test('a change of the set counts for the key within a second', async (t) => {
  const made = await createAgent(api, alice.jwt, { name: 'Moves', kind: 'service', monitorIds: [] })
  t.equal((await report(made.apiKey)).status, 422)
  const json = { name: 'Moved', monitorIds: [monitor.id], scopes: ['heartbeats:write', 'heartbeats:read'] }
  const { status, body } = await api.call('PATCH', `/v1/agents/${made.id}`, { as: alice.jwt, json })
  t.equal(status, 200)
  t.match(body, json)
  await waitFor(async () => (await report(made.apiKey)).status === 202, { timeoutMs: 1000 })
})

t.test('a rotated key is void within a second, and the new one works', async (t) => {
  const made = await createAgent(api, alice.jwt, { name: 'Turns', kind: 'service', monitorIds: [monitor.id] })
  t.equal((await report(made.apiKey)).status, 202)
  const { status, body, headers } = await api.call('POST', `/v1/agents/${made.id}/rotate`, { as: alice.jwt })
  t.equal(status, 200)
  t.equal(headers.get('cache-control'), 'no-store')
  const { apiKey } = body as { apiKey: string }
  t.not(apiKey, made.apiKey)
  t.equal((await report(apiKey)).status, 202)
  await waitFor(async () => (await report(made.apiKey)).status === 401, { timeoutMs: 1000 })
  expectProblem(t, await report(made.apiKey), 401, 'unauthorized')
})

t.test('a deleted agent is gone with its key', async (t) => {
  const made = await createAgent(api, alice.jwt, { name: 'Goes', kind: 'service', monitorIds: [monitor.id] })
  t.equal((await report(made.apiKey)).status, 202)
  t.equal((await api.call('DELETE', `/v1/agents/${made.id}`, { as: alice.jwt })).status, 204)
  expectProblem(t, await api.call('GET', `/v1/agents/${made.id}`, { as: alice.jwt }), 404, 'not_found')
  await waitFor(async () => (await report(made.apiKey)).status === 401, { timeoutMs: 1000 })
})

t.test('presence says when the agent was last heard', async (t) => {
  const presenceAfter = async (seconds: number) => {
    await stores.db.query("update agents set last_seen_at = now() - $2 * interval '1 second' where id = $1", [
      agent.id,
      seconds
    ])
    return (await read(agent.id)).presence
  }
  t.same([await presenceAfter(5), await presenceAfter(70), await presenceAfter(200)], ['online', 'stale', 'offline'])
  await stores.db.query('update api_keys set revoked_at = now() where agent_id = $1', [agent.id])
  t.equal((await read(agent.id)).presence, 'revoked')
})

t.test('a service that reports by the API was seen then', async (t) => {
  const made = await createAgent(api, alice.jwt, { name: 'Calls', kind: 'service', monitorIds: [monitor.id] })
  t.match(await read(made.id), { presence: 'never_connected', lastSeenAt: null })
  t.equal((await report(made.apiKey)).status, 202)
  await waitFor(async () => (await read(made.id)).presence === 'online')
  t.ok((await read(made.id)).lastSeenAt)
})

t.test('a key with a typing error is refused like an unknown one', async (t) => {
  const { apiKey } = await createAgent(api, alice.jwt, { name: 'Typo', kind: 'service' })
  const wrong = `${apiKey.slice(0, -1)}${apiKey.endsWith('0') ? '1' : '0'}`
  expectProblem(t, await report(wrong), 401, 'unauthorized')
  expectProblem(t, await report('pgs_'), 401, 'unauthorized')
})
