import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { createAgent, createCast, createMonitor } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'

const stores = await openStores(t)
const api = await apiFor(t, stores)
const { alice, bob, agent, monitor, pushMonitor } = await createCast(api)
const at = (ms: number) => new Date(Date.now() + ms).toISOString()
const good = () => ({ monitorId: monitor.id, status: 'up', latency: 3, timestamp: at(0) })
const post = (json: unknown, as = agent.apiKey) => api.call('POST', '/api/heartbeats', { as, json })
const postRaw = (body: string, type: string) =>
  api.call('POST', '/api/heartbeats', { as: agent.apiKey, body, headers: { 'content-type': type } })
const without = (field: string) => Object.fromEntries(Object.entries(good()).filter(([name]) => name !== field))
const waiting = async () => (await stores.queue.counts()).waiting

const faults: Array<[name: string, item: unknown, code: string]> = [
  ...['monitorId', 'status', 'latency', 'timestamp'].map((field): [string, unknown, string] => [
    `no ${field}`,
    without(field),
    'missing_field'
  ]),
  ['an unknown field', { ...good(), id: 1 }, 'unknown_field'],
  ['an unknown status', { ...good(), status: 'UP' }, 'invalid_status'],
  ['a status of pushes only', { ...good(), status: 'log' }, 'invalid_status'],
  ['a negative latency', { ...good(), latency: -1 }, 'invalid_latency'],
  ['a latency in words', { ...good(), latency: '3' }, 'invalid_latency'],
  ['a latency of null', { ...good(), latency: null }, 'invalid_latency'],
  ['a time in words', { ...good(), timestamp: 'now' }, 'invalid_timestamp'],
  ['a time of another zone', { ...good(), timestamp: '2026-01-01T00:00:00+01:00' }, 'invalid_timestamp'],
  ['the 30th of February', { ...good(), timestamp: '2026-02-30T00:00:00Z' }, 'invalid_timestamp'],
  ['a time too far ahead', { ...good(), timestamp: at(90_000) }, 'timestamp_in_future'],
  ['a time of the day before yesterday', { ...good(), timestamp: at(-86_460_000) }, 'timestamp_too_old'],
  ['an endless message', { ...good(), message: 'x'.repeat(2001) }, 'invalid_message'],
  ['a U+0000 in the message', { ...good(), message: 'a\u0000' }, 'invalid_message'],
  ['a monitor outside the set', { ...good(), monitorId: pushMonitor.id }, 'monitor_not_allowed'],
  ['no monitor id', { ...good(), monitorId: 'x' }, 'monitor_not_allowed'],
  ['null', null, 'not_an_object'],
  ['a number', 7, 'not_an_object'],
  ['an array in the array', [], 'not_an_object']
]
for (const [name, item, code] of faults) {
  t.test(`${name} is refused as ${code}, and its neighbours are accepted`, async (t) => {
    const before = await waiting()
    const alone = expectProblem(t, await post([item]), 422, 'heartbeats_rejected')
    t.match(alone.rejected, [{ index: 0, code, detail: String }])
    t.equal(await waiting(), before, 'nothing was queued')
    const { status, body } = await post([good(), item, good()])
    t.equal(status, 202)
    t.match(body, { accepted: 2, rejected: [{ index: 1, code }] })
    t.equal(await waiting(), before + 1, 'one job holds both')
  })
}

t.test('a __proto__ is refused, however it is written', async (t) => {
  for (const key of ['__proto__', '\\u005f_proto__', '_\\u005fproto__']) {
    const body = JSON.stringify(good()).replace('{', `{"${key}":{"status":"down"},`)
    expectProblem(t, await postRaw(body, 'application/json'), 422, 'validation_failed')
  }
})

t.test('a batch holds 1 to 500 heartbeats', async (t) => {
  t.match((await post(Array.from({ length: 500 }, good))).body, { accepted: 500 })
  expectProblem(t, await post(Array.from({ length: 501 }, good)), 413, 'payload_too_large')
  expectProblem(t, await post([]), 422, 'validation_failed')
})

t.test('a body of more than 256 KiB is refused', async (t) => {
  const messages = Array.from({ length: 200 }, () => ({ ...good(), message: 'x'.repeat(1900) }))
  expectProblem(t, await post(messages), 413, 'payload_too_large')
  const chunked = await fetch(`${api.url}/api/heartbeats`, {
    method: 'POST',
    headers: { authorization: `Bearer ${agent.apiKey}`, 'content-type': 'application/json' },
    body: new Blob([JSON.stringify(messages)]).stream(),
    duplex: 'half'
  } as RequestInit)
  t.equal(chunked.status, 413)
  t.match(await chunked.json(), { code: 'payload_too_large' })
})

t.test('what is not JSON is told apart', async (t) => {
  expectProblem(t, await postRaw('{"monitorId":', 'application/json'), 400, 'malformed_json')
  expectProblem(t, await postRaw('', 'application/json'), 400, 'malformed_json')
  const form = await postRaw('a=b', 'application/x-www-form-urlencoded')
  expectProblem(t, form, 415, 'unsupported_media_type')
  t.equal(form.headers.get('accept-post'), 'application/json')
  expectProblem(
    t,
    await postRaw(JSON.stringify(good()), 'application/json; charset=latin1'),
    415,
    'unsupported_media_type'
  )
  t.equal((await postRaw(JSON.stringify(good()), 'application/json; charset=utf-8')).status, 202)
})

t.test('any member reports every monitor of the organization, and one just made', async (t) => {
  t.equal((await post(good(), bob.jwt)).status, 202)
  const fresh = await createMonitor(api, alice.jwt, { name: 'Fresh', kind: 'heartbeat' })
  t.equal((await post({ ...good(), monitorId: fresh.id }, bob.jwt)).status, 202)
})

t.test('a key needs the scope', async (t) => {
  const reader = await createAgent(api, alice.jwt, { name: 'Reader', kind: 'service', scopes: ['heartbeats:read'] })
  const answer = await post(good(), reader.apiKey)
  expectProblem(t, answer, 403, 'insufficient_scope')
  t.equal(answer.headers.get('www-authenticate'), 'Bearer realm="pulsegate", error="insufficient_scope"')
})

t.test('nobody reports without a credential, or with a strange one', async (t) => {
  const json = good()
  expectProblem(t, await api.call('POST', '/api/heartbeats', { json }), 401, 'unauthorized')
  for (const authorization of ['Basic YTpi', 'Bearer', 'Bearer x', 'Bearer a b', `bearer ${agent.apiKey}x`]) {
    expectProblem(
      t,
      await api.call('POST', '/api/heartbeats', { json, headers: { authorization } }),
      401,
      'unauthorized'
    )
  }
})

t.test('a suspended organization reports nothing', async (t) => {
  const plan = 'update organizations set suspended_at = now() where id = $1'
  await stores.db.query(plan, [alice.organizationId])
  const { apiKey } = agent
  const later = await apiFor(t, stores)
  expectProblem(
    t,
    await later.call('POST', '/api/heartbeats', { as: apiKey, json: good() }),
    403,
    'organization_suspended'
  )
})
