import { t } from 'tap'
import type { ApiKeyAnswer } from '../../shared/contract/agents.ts'
import { apiFor } from '../support/api.ts'
import { createAgent, createCast, createMonitor } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'

interface Entry {
  id: string
  at: string
  actor: { kind: string; id: string; name: string }
  action: string
  target: { kind: string; id: string; name: string } | null
  details: Record<string, unknown>
  address: string
}
interface Page {
  data: Entry[]
  nextCursor: string | null
}

const stores = await openStores(t)
const api = await apiFor(t, stores)
const { alice, bob, charlie } = await createCast(api)
const call = (method: string, path: string, json?: unknown) => api.call(method, path, { as: alice.jwt, json })
const read = async (query = '', as = alice.jwt) => {
  const { status, body } = await api.call('GET', `/v1/audit?${query}`, { as })
  if (status !== 200) throw new Error(`the audit trail answered ${status}: ${JSON.stringify(body)}`)
  return body as Page
}
/** What was done to this one, oldest first. */
const storyOf = async (id: string) => (await read(`targetId=${id}`)).data.reverse()

t.test('signing up leaves who founded the organization and from where', async (t) => {
  const { data } = await read('action=organization.created')
  t.match(data, [
    {
      actor: { kind: 'user', id: alice.id, name: alice.email },
      target: { kind: 'organization', id: alice.organizationId, name: "Alice's" },
      address: /^(127\.0\.0\.1|::1)$/
    }
  ])
})

t.test("an agent's life is told with its keys, and without any of them", async (t) => {
  const { id, apiKey } = await createAgent(api, alice.jwt, { name: 'Rack 2' })
  const { body: second } = await call('POST', `/v1/agents/${id}/keys`)
  const { body: keys } = await call('GET', `/v1/agents/${id}/keys`)
  const [, first] = (keys as { data: ApiKeyAnswer[] }).data
  await call('DELETE', `/v1/agents/${id}/keys/${first?.id}`)
  await call('PATCH', `/v1/agents/${id}`, { name: 'Rack 3', scopes: ['heartbeats:write'] })
  const { body: rotated } = await call('POST', `/v1/agents/${id}/rotate`)
  await call('DELETE', `/v1/agents/${id}`)
  const story = await storyOf(id)
  t.same(
    story.map(({ action }) => action),
    ['agent.created', 'key.created', 'key.revoked', 'agent.changed', 'key.rotated', 'agent.deleted']
  )
  t.match(story, [
    { target: { kind: 'agent', id, name: 'Rack 2' }, details: { kind: 'agent', keyId: first?.id } },
    { target: { kind: 'key' }, details: { agentId: id, agentName: 'Rack 2' } },
    { target: { kind: 'key', id: first?.id, name: `${apiKey.slice(0, 8)}…${apiKey.slice(-4)}` } },
    { target: { name: 'Rack 3' }, details: { fields: ['name'] } },
    { details: { revokedKeyIds: [(second as { id: string }).id] } },
    { target: { kind: 'agent', id, name: 'Rack 3' } }
  ])
  for (const shown of [apiKey, (second as { apiKey: string }).apiKey, (rotated as { apiKey: string }).apiKey]) {
    t.notMatch(JSON.stringify(story), shown.slice(8, -4))
  }
})

t.test("a monitor's life is told by the names of its fields, not by their values", async (t) => {
  const { id } = await createMonitor(api, alice.jwt, {
    name: 'Till',
    kind: 'http',
    target: 'https://till.example.com/'
  })
  const change = { name: 'Till', target: 'https://till.example.com/?token=swordfish' }
  t.equal((await call('PATCH', `/v1/monitors/${id}`, change)).status, 200)
  await call('PATCH', `/v1/monitors/${id}`, change)
  await call('DELETE', `/v1/monitors/${id}`)
  const story = await storyOf(id)
  t.match(story, [
    { action: 'monitor.created', details: { kind: 'http' } },
    { action: 'monitor.changed', details: { fields: ['target'] } },
    { action: 'monitor.deleted', target: { kind: 'monitor', id, name: 'Till' } }
  ])
  t.equal(story.length, 3, 'what changed nothing is not told')
  t.notMatch(JSON.stringify(story), 'swordfish')
})

t.test('a change that is refused leaves nothing', async (t) => {
  const before = (await read()).data.length
  await call('POST', '/v1/agents', { name: 'X', kind: 'agent', monitorIds: [alice.id] })
  await call('DELETE', `/v1/agents/${alice.id}`)
  await call('DELETE', `/v1/monitors/${alice.id}`)
  t.equal((await read()).data.length, before)
})

t.test('the trail comes newest first, page by page', async (t) => {
  const whole = (await read()).data
  t.ok(whole.length > 5)
  t.same(
    whole.map(({ id }) => id),
    whole
      .map(({ id }) => id)
      .sort()
      .reverse()
  )
  const first = await read('limit=3')
  const rest = await read(`limit=1000&cursor=${first.nextCursor}`)
  t.same([...first.data, ...rest.data], whole)
  t.equal(rest.nextCursor, null)
})

t.test('the trail is narrowed by action, actor, target and time', async (t) => {
  const whole = (await read()).data
  const [newest] = whole
  const created = (await read('action=agent.created')).data
  t.same(
    created,
    whole.filter(({ action }) => action === 'agent.created')
  )
  t.same(
    (await read(`actorId=${bob.id}`)).data,
    whole.filter(({ actor }) => actor.id === bob.id)
  )
  t.same((await read(`targetId=${charlie.id}`)).data, [])
  t.same(
    (await read(`from=${newest?.at}`)).data,
    whole.filter(({ at }) => at >= (newest?.at ?? ''))
  )
  t.same(
    (await read(`to=${newest?.at}`)).data,
    whole.filter(({ at }) => at < (newest?.at ?? ''))
  )
})

const wrong: Array<[query: string, fault: string]> = [
  ['action=agent.painted', '?action invalid_value'],
  ['actorId=x', '?actorId invalid_value'],
  ['from=yesterday', '?from invalid_value'],
  ['limit=0', '?limit invalid_value'],
  ['targetId=%00', '?targetId invalid_value'],
  ['who=me', '?who unknown_field']
]
for (const [query, fault] of wrong) {
  t.test(`?${query} is refused as ${fault}`, async (t) => {
    const answer = await api.call('GET', `/v1/audit?${query}`, { as: alice.jwt })
    t.same(faultsOf(expectProblem(t, answer, 422, 'validation_failed')), [fault])
  })
}

t.test('a cursor that is not ours is refused', async (t) => {
  expectProblem(t, await api.call('GET', '/v1/audit?cursor=x', { as: alice.jwt }), 400, 'invalid_cursor')
})

t.test('a member may not read it, and a stranger reads his own', async (t) => {
  expectProblem(t, await api.call('GET', '/v1/audit', { as: bob.jwt }), 403, 'forbidden')
  const { data } = await read('', charlie.jwt)
  t.ok(data.length > 0)
  t.ok(data.every(({ actor }) => actor.id === charlie.id))
})

t.test('nobody changes what is written, not even by SQL as the API', async (t) => {
  const rows = await stores.db.query(
    `select has_table_privilege('pulsegate_api', 'audit_log', privilege) as may
     from unnest(array['update', 'delete', 'truncate']) as privilege`
  )
  t.same(rows, [{ may: false }, { may: false }, { may: false }])
})
