import { type Test, t } from 'tap'
import type { AgentAnswer } from '../../shared/contract/agents.ts'
import { anotherProcess } from '../support/another-process.ts'
import { apiFor } from '../support/api.ts'
import { createAgent, createCast } from '../support/cast.ts'
import { connectAgent, type FakeAgent, UpgradeRefused } from '../support/fake-agent.ts'
import { gatewayFor, openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'
import { waitFor } from '../support/wait-for.ts'

/** How long a revocation may take to reach every process, in milliseconds. */
const WITHIN_MS = 1000

const stores = await openStores(t)
const others = [await anotherProcess(t, stores), await anotherProcess(t, stores)]
const addresses = { apiUrl: 'https://localhost:8443', siteUrl: 'https://localhost:8443' }
const apis = [
  await apiFor(t, stores, { addresses }),
  await apiFor(t, await anotherProcess(t, stores), { addresses })
] as const
const gateways = await Promise.all(others.map((other) => gatewayFor(t, other)))
const [api] = apis
const { alice, monitor } = await createCast(api)

/** A service: unlike an agent it may hold a socket at each gateway at the same time. */
function createService(name: string): Promise<AgentAnswer & { apiKey: string }> {
  return createAgent(api, alice.jwt, { name, kind: 'service', monitorIds: [monitor.id] })
}

async function openSockets(apiKey: string): Promise<FakeAgent[]> {
  const sockets = await Promise.all(gateways.map(({ url }) => connectAgent({ url, apiKey })))
  for (const socket of sockets) await socket.hello()
  return sockets
}

async function statusesOf(apiKey: string): Promise<number[]> {
  const json = { monitorId: monitor.id, status: 'up', latency: 1, timestamp: new Date().toISOString() }
  const answers = await Promise.all(apis.map((one) => one.call('POST', '/api/heartbeats', { as: apiKey, json })))
  return answers.map(({ status }) => status)
}

async function isRefused(url: string, apiKey: string): Promise<boolean> {
  try {
    const socket = await connectAgent({ url, apiKey })
    await socket.close()
    return false
  } catch (error) {
    if (!(error instanceof UpgradeRefused)) throw error
    return error.status === 401
  }
}

/** From the answer to a revocation on: sockets closed at every gateway, no request and no upgrade let in anywhere. */
async function expectOver(t: Test, apiKey: string, sockets: readonly FakeAgent[], answeredAt: number): Promise<void> {
  for (const socket of sockets) t.match(await socket.closed, { code: 4401, reason: 'key_revoked' })
  await waitFor(async () => (await statusesOf(apiKey)).every((status) => status === 401), { timeoutMs: WITHIN_MS })
  for (const { url } of gateways) t.ok(await isRefused(url, apiKey))
  t.ok(performance.now() - answeredAt < WITHIN_MS, 'within a second')
}

t.test('a rotated key ends at two gateways and two APIs within a second', async (t) => {
  const service = await createService('Rotates')
  const sockets = await openSockets(service.apiKey)
  t.same(await statusesOf(service.apiKey), [202, 202])
  const { status, body } = await api.call('POST', `/v1/agents/${service.id}/rotate`, { as: alice.jwt })
  const answeredAt = performance.now()
  t.equal(status, 200)
  await expectOver(t, service.apiKey, sockets, answeredAt)
  t.same(await statusesOf((body as { apiKey: string }).apiKey), [202, 202])
})

t.test('the keys of a deleted service end everywhere within a second', async (t) => {
  const service = await createService('Goes')
  const sockets = await openSockets(service.apiKey)
  t.same(await statusesOf(service.apiKey), [202, 202])
  t.equal((await api.call('DELETE', `/v1/agents/${service.id}`, { as: alice.jwt })).status, 204)
  await expectOver(t, service.apiKey, sockets, performance.now())
})

t.test('revoking one key closes the sockets of that key only', async (t) => {
  const service = await createService('Overlaps')
  const keys = `/v1/agents/${service.id}/keys`
  const { body: second } = await api.call('POST', keys, { as: alice.jwt })
  const { apiKey } = second as { apiKey: string }
  const old = await openSockets(service.apiKey)
  const young = await openSockets(apiKey)
  t.same([await statusesOf(service.apiKey), await statusesOf(apiKey)].flat(), [202, 202, 202, 202])
  const { body: list } = await api.call('GET', keys, { as: alice.jwt })
  const first = (list as { data: Array<{ id: string }> }).data[1]
  t.equal((await api.call('DELETE', `${keys}/${first?.id}`, { as: alice.jwt })).status, 204)
  await expectOver(t, service.apiKey, old, performance.now())
  t.same(await statusesOf(apiKey), [202, 202])
  for (const socket of young) {
    socket.send({ type: 'heartbeats', seq: 1, items: [] })
    t.match(await socket.next('ack'), { seq: 1 })
    await socket.close()
  }
})

t.test('an API that was not asked refuses the key as one that nobody has', async (t) => {
  const service = await createService('Elsewhere')
  t.same(await statusesOf(service.apiKey), [202, 202])
  const { status } = await apis[1].call('POST', `/v1/agents/${service.id}/rotate`, { as: alice.jwt })
  t.equal(status, 200)
  await waitFor(async () => (await statusesOf(service.apiKey)).every((status) => status === 401), {
    timeoutMs: WITHIN_MS
  })
  const answer = await api.call('GET', `/api/heartbeats?monitorId=${monitor.id}`, { as: service.apiKey })
  t.equal(expectProblem(t, answer, 401, 'unauthorized').detail, 'The API key is unknown or revoked.')
})
