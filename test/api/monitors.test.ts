import { randomUUID } from 'node:crypto'
import { t } from 'tap'
import type { MonitorAnswer } from '../../shared/contract/monitors.ts'
import { apiFor } from '../support/api.ts'
import { createCast } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'

interface Page {
  data: MonitorAnswer[]
  nextCursor: string | null
}

const stores = await openStores(t)
const api = await apiFor(t, stores)
const { alice, bob, agent, monitor, pushMonitor } = await createCast(api)
const create = (fields: object) =>
  api.call('POST', '/v1/monitors', { as: bob.jwt, json: { name: 'Shop', kind: 'heartbeat', ...fields } })
const path = `/v1/monitors/${monitor.id}`

t.test('monitors are created with sensible standards', async (t) => {
  const { status, body } = await create({ kind: 'http', target: 'https://example.com/', tags: ['web'] })
  t.equal(status, 201)
  const standards = { intervalSeconds: 60, graceSeconds: 30, timeoutSeconds: 10, settings: {} }
  t.match(body, { ...standards, name: 'Shop', target: 'https://example.com/', tags: ['web'] })
  t.match(body, { state: 'pending', stateReason: 'created', lastHeartbeatAt: null, createdAt: /Z$/ })
  t.match((await create({ intervalSeconds: 3600 })).body, { graceSeconds: 720, timeoutSeconds: 10 })
  t.match((await create({ intervalSeconds: 10, timeoutSeconds: undefined })).body, { timeoutSeconds: 10 })
})

const targets: Array<[kind: string, target: string | undefined, good: boolean]> = [
  ['http', 'http://example.com/a?b', true],
  ['http', 'ftp://example.com', false],
  ['http', 'example.com', false],
  ['http', undefined, false],
  ['tcp', 'example.com:22', true],
  ['tcp', '[::1]:22', true],
  ['tcp', 'example.com', false],
  ['tls', 'example.com:70000', false],
  ['dns', 'example.com', true],
  ['ping', '192.0.2.1', true],
  ['ping', '2001:db8::1', true],
  ['ping', 'a b', false],
  ['heartbeat', undefined, true],
  ['heartbeat', 'example.com', false],
  ['command', undefined, true],
  ['push', 'x', false]
]
for (const [kind, target, good] of targets) {
  t.test(`a ${kind} monitor with the target ${target} is ${good ? 'created' : 'refused'}`, async (t) => {
    const answer = await create({ kind, target })
    if (good) t.equal(answer.status, 201)
    else
      t.same(faultsOf(expectProblem(t, answer, 422, 'validation_failed')), [
        `/target ${target === undefined ? 'missing_field' : 'invalid_value'}`
      ])
  })
}

const refused: Array<[fields: object, fault: string]> = [
  [{ name: '' }, '/name too_short'],
  [{ name: 'x'.repeat(201) }, '/name too_long'],
  [{ kind: 'smoke' }, '/kind invalid_value'],
  [{ intervalSeconds: 9 }, '/intervalSeconds invalid_value'],
  [{ intervalSeconds: 31_536_001 }, '/intervalSeconds invalid_value'],
  [{ intervalSeconds: 60.5 }, '/intervalSeconds invalid_value'],
  [{ graceSeconds: -1 }, '/graceSeconds invalid_value'],
  [{ timeoutSeconds: 61 }, '/timeoutSeconds invalid_value'],
  [{ tags: [''] }, '/tags/0 too_short'],
  [{ settings: { method: 'GET' } }, '/settings invalid_value'],
  [{ kind: 'http', target: 'http://a.example', settings: { metod: 'GET' } }, '/settings/metod unknown_field'],
  [{ id: randomUUID() }, '/id unknown_field'],
  [{ organizationId: randomUUID() }, '/organizationId unknown_field'],
  [{ 'a/b~c': 1 }, '/a~1b~0c unknown_field']
]
for (const [fields, fault] of refused) {
  t.test(`${JSON.stringify(fields).slice(0, 60)} is refused as ${fault}`, async (t) => {
    t.same(faultsOf(expectProblem(t, await create(fields), 422, 'validation_failed')), [fault])
  })
}

t.test('monitors are listed newest first, page by page', async (t) => {
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: Page = (
      await api.call('GET', `/v1/monitors?limit=3${cursor && `&cursor=${cursor}`}`, { as: alice.jwt })
    ).body as Page
    t.ok(page.data.length > 0 && page.data.length <= 3)
    seen.push(...page.data.map(({ id }) => id))
    cursor = page.nextCursor
  }
  t.same(seen, [...new Set(seen)].sort().reverse())
  t.ok(seen.includes(monitor.id) && seen.includes(pushMonitor.id))
})

t.test('monitors are changed field by field', async (t) => {
  const change = { name: 'Till', intervalSeconds: 30, settings: { method: 'HEAD' } }
  const { status, body } = await api.call('PATCH', path, { as: bob.jwt, json: change })
  t.equal(status, 200)
  t.match(body, { ...change, target: monitor.target, kind: 'http', graceSeconds: monitor.graceSeconds })
  const bad = await api.call('PATCH', path, { as: bob.jwt, json: { target: 'nowhere' } })
  t.same(faultsOf(expectProblem(t, bad, 422, 'validation_failed')), ['/target invalid_value'])
  const kind = await api.call('PATCH', path, { as: bob.jwt, json: { kind: 'tcp' } })
  t.same(faultsOf(expectProblem(t, kind, 422, 'validation_failed')), ['/kind unknown_field'])
})

t.test('monitors are read by a key with the scope, those of its set and without push URL', async (t) => {
  const made = await api.call('POST', '/v1/agents', {
    as: alice.jwt,
    json: { name: 'Reader', kind: 'service', monitorIds: [pushMonitor.id], scopes: ['monitors:read'] }
  })
  const { apiKey } = made.body as { apiKey: string }
  const { data } = (await api.call('GET', '/v1/monitors', { as: apiKey })).body as Page
  t.same(
    data.map(({ id }) => id),
    [pushMonitor.id]
  )
  t.notOk(data.some((one) => 'pushUrl' in one))
  t.equal((await api.call('GET', `/v1/monitors/${pushMonitor.id}`, { as: apiKey })).status, 200)
  expectProblem(t, await api.call('GET', path, { as: apiKey }), 404, 'not_found')
  expectProblem(t, await api.call('DELETE', path, { as: apiKey }), 403, 'forbidden')
  expectProblem(t, await api.call('GET', path, { as: agent.apiKey }), 403, 'insufficient_scope')
})

t.test('push monitors have a push URL of their own', async (t) => {
  t.match(pushMonitor.pushUrl, new RegExp(`^${api.apiUrl}/push/[0-9A-Za-z]{32}$`))
  const again = await api.call('GET', `/v1/monitors/${pushMonitor.id}`, { as: bob.jwt })
  t.equal((again.body as MonitorAnswer).pushUrl, pushMonitor.pushUrl)
  t.equal(monitor.pushUrl, undefined)
})

t.test('monitors are gone when deleted, and so is their push URL', async (t) => {
  const made = (await create({ kind: 'push' })).body as MonitorAnswer
  const pushPath = new URL(made.pushUrl ?? '').pathname
  t.equal((await api.call('GET', pushPath)).status, 200)
  const gone = await api.call('DELETE', `/v1/monitors/${made.id}`, { as: bob.jwt })
  t.match(gone, { status: 204, body: '' })
  expectProblem(t, await api.call('GET', `/v1/monitors/${made.id}`, { as: bob.jwt }), 404, 'not_found')
  expectProblem(t, await api.call('DELETE', `/v1/monitors/${made.id}`, { as: bob.jwt }), 404, 'not_found')
  t.equal((await api.call('GET', pushPath)).status, 404)
})
