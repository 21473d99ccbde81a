import { randomUUID } from 'node:crypto'
import { t } from 'tap'
import type { ApiKeyAnswer } from '../../shared/contract/agents.ts'
import { apiFor } from '../support/api.ts'
import { createAgent, createCast } from '../support/cast.ts'
import { connectAgent } from '../support/fake-agent.ts'
import { gatewayFor, openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'
import { waitFor } from '../support/wait-for.ts'

let movedMs = 0
const clock = () => Date.now() + movedMs
const stores = await openStores(t)
const api = await apiFor(t, stores, { clock })
const { alice, monitor } = await createCast(api)

const make = (name: string, kind = 'service') =>
  createAgent(api, alice.jwt, { name, kind, monitorIds: [monitor.id], scopes: ['heartbeats:write', 'monitors:read'] })
const add = (agentId: string) => api.call('POST', `/v1/agents/${agentId}/keys`, { as: alice.jwt })
const revoke = (agentId: string, keyId = '') =>
  api.call('DELETE', `/v1/agents/${agentId}/keys/${keyId}`, { as: alice.jwt })
const list = async (agentId: string, query = '') => {
  const { status, body } = await api.call('GET', `/v1/agents/${agentId}/keys${query}`, { as: alice.jwt })
  if (status !== 200) throw new Error(`the list answered ${status}`)
  return body as { data: ApiKeyAnswer[]; nextCursor: string | null }
}
const use = async (apiKey: string) => (await api.call('GET', '/v1/monitors', { as: apiKey })).status

t.test('a second key works beside the first, and is shown in its answer only', async (t) => {
  const agent = await make('Overlaps')
  const { status, body, headers } = await add(agent.id)
  t.equal(status, 201)
  t.equal(headers.get('cache-control'), 'no-store')
  const { apiKey, ...shown } = body as ApiKeyAnswer & { apiKey: string }
  t.same([await use(agent.apiKey), await use(apiKey)], [200, 200])
  const { data, nextCursor } = await list(agent.id)
  t.equal(nextCursor, null)
  t.same(data[0], shown)
  t.match(shown, { prefix: apiKey.slice(0, 8), suffix: apiKey.slice(-4), lastUsedAt: null, revokedAt: null })
  t.match(data[1], { prefix: agent.apiKey.slice(0, 8), suffix: agent.apiKey.slice(-4) })
  t.same(Object.keys(data[1] ?? {}), ['id', 'prefix', 'suffix', 'createdAt', 'lastUsedAt', 'revokedAt'])
})

t.test('a third active key is refused until one of the two is revoked', async (t) => {
  const agent = await make('Full')
  t.equal((await add(agent.id)).status, 201)
  expectProblem(t, await add(agent.id), 409, 'limit_reached')
  const { data } = await list(agent.id)
  t.equal((await revoke(agent.id, data[1]?.id)).status, 204)
  t.equal((await add(agent.id)).status, 201)
})

t.test('of many requests at once no more than the limit give a key', async (t) => {
  const agent = await make('Raced')
  const answers = await Promise.all(Array.from({ length: 8 }, () => add(agent.id)))
  t.same(answers.map(({ status }) => status).sort(), [201, ...Array(7).fill(409)])
})

t.test('a revoked key stays in the list, and revoking it again changes nothing', async (t) => {
  const agent = await make('Ends')
  const [key] = (await list(agent.id)).data
  t.equal((await revoke(agent.id, key?.id)).status, 204)
  t.equal(await use(agent.apiKey), 401)
  const [ended] = (await list(agent.id)).data
  t.type(ended?.revokedAt, 'string')
  t.equal((await revoke(agent.id, key?.id)).status, 204)
  t.same((await list(agent.id)).data, [ended])
  const { body } = await api.call('GET', `/v1/agents/${agent.id}`, { as: alice.jwt })
  t.match(body, { presence: 'revoked' })
})

t.test('rotating ends both keys', async (t) => {
  const agent = await make('Turns')
  const { apiKey } = (await add(agent.id)).body as { apiKey: string }
  const { body } = await api.call('POST', `/v1/agents/${agent.id}/rotate`, { as: alice.jwt })
  t.same([await use(agent.apiKey), await use(apiKey)], [401, 401])
  t.equal(await use((body as { apiKey: string }).apiKey), 200)
  t.same(
    (await list(agent.id)).data.map(({ revokedAt }) => revokedAt === null),
    [true, false, false]
  )
})

t.test('a key of another agent is not found', async (t) => {
  const [one, other] = [await make('One'), await make('Other')]
  const [key] = (await list(one.id)).data
  expectProblem(t, await revoke(other.id, key?.id), 404, 'not_found')
  expectProblem(t, await revoke(one.id, randomUUID()), 404, 'not_found')
  expectProblem(t, await revoke(one.id, 'x'), 404, 'not_found')
  t.equal(await use(one.apiKey), 200)
})

t.test('lists of keys come page by page', async (t) => {
  const agent = await make('Many')
  for (let i = 0; i < 4; i++) await api.call('POST', `/v1/agents/${agent.id}/rotate`, { as: alice.jwt })
  const whole = (await list(agent.id)).data
  t.equal(whole.length, 5)
  const first = await list(agent.id, '?limit=2')
  const second = await list(agent.id, `?limit=3&cursor=${first.nextCursor}`)
  t.same([...first.data, ...second.data], whole)
  t.equal(second.nextCursor, null)
  const wrong = await api.call('GET', `/v1/agents/${agent.id}/keys?cursor=x`, { as: alice.jwt })
  expectProblem(t, wrong, 400, 'invalid_cursor')
})

t.test('the API notes when a key was last used, at most once a minute', async (t) => {
  const agent = await make('Used')
  const lastUsed = async () => (await list(agent.id)).data[0]?.lastUsedAt
  t.equal(await lastUsed(), null)
  await use(agent.apiKey)
  const first = await waitFor(lastUsed)
  t.ok(Math.abs(Date.parse(first) - clock()) < 10_000)
  movedMs += 30_000
  await use(agent.apiKey)
  movedMs += 31_000
  await use(agent.apiKey)
  const second = await waitFor(async () => {
    const time = await lastUsed()
    return time !== first && time
  })
  t.ok(Date.parse(second) - Date.parse(first) >= 60_000, 'the use half a minute later was not written')
})

t.test('a socket is a use of its key', async (t) => {
  const gateway = await gatewayFor(t, stores)
  const agent = await make('Connects', 'agent')
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await waitFor(async () => (await list(agent.id)).data[0]?.lastUsedAt)
  await socket.close()
})

t.test('what was used last is written when the process stops', async (t) => {
  const gateway = await gatewayFor(t, stores)
  const agent = await make('Leaves', 'agent')
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await socket.close()
  await gateway.stop()
  t.type((await list(agent.id)).data[0]?.lastUsedAt, 'string')
})
