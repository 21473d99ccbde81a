import { get, type IncomingMessage } from 'node:http'
import { type Test, t } from 'tap'
import { apiFor } from '../support/api.ts'
import { createCast } from '../support/cast.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'
import { waitFor } from '../support/wait-for.ts'

interface Seen {
  id: string | undefined
  event: string
  data: Record<string, unknown>
}

const stores = await openStores(t)
const api = await apiFor(t, stores)
const { alice, bob, charlie, monitor, agent } = await createCast(api)
await workerFor(t, stores)

function parse(block: string): Seen | null {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
  const event = field('event')
  return event === undefined ? null : { id: field('id'), event, data: JSON.parse(field('data') ?? '{}') }
}

async function watch(t: Test, { as = bob.jwt, query = '', lastEventId = '', to = api } = {}) {
  const headers = { authorization: `Bearer ${as}`, ...(lastEventId && { 'last-event-id': lastEventId }) }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ host: 'localhost', port: to.port, path: `/v1/live${query}`, headers, agent: false }, resolve).on(
      'error',
      reject
    )
  })
  let text = ''
  let ended = false
  response.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  response
    .on('error', () => undefined)
    .on('close', () => {
      ended = true
    })
  const close = async () => {
    response.destroy()
  }
  t.teardown(close)
  const events = (event: string) =>
    text
      .split('\n\n')
      .flatMap((block) => parse(block) ?? [])
      .filter((one) => one.event === event)
  const come = (event: string, count = 1, timeoutMs = 10_000) =>
    waitFor(() => events(event).length >= count && events(event), { what: `${count} ${event}: ${text}`, timeoutMs })
  return { response, events, come, close, text: () => text, ended: () => ended }
}

let last = Date.now()
async function report(status: string, monitorId = monitor.id): Promise<void> {
  last = Math.max(last + 1, Date.now())
  const json = { monitorId, status, latency: 3, timestamp: new Date(last).toISOString() }
  const answer = await api.call('POST', '/api/heartbeats', { as: alice.jwt, json })
  if (answer.status !== 202) throw new Error(JSON.stringify(answer))
}

t.test('state changes and heartbeats are told as they happen, and to nobody else', async (t) => {
  const [ours, theirs] = [await watch(t), await watch(t, { as: charlie.jwt })]
  t.equal(ours.response.headers['content-type'], 'text/event-stream')
  await ours.come('resync')
  await theirs.come('resync')
  await report('up')
  await report('down')
  const states = await ours.come('state', 2)
  t.match(states, [
    { id: /^\d+-\d+\.\d+$/, data: { monitorId: monitor.id, from: 'pending', to: 'up', reason: 'reported', at: /Z$/ } },
    { data: { from: 'up', to: 'down' } }
  ])
  t.match((await ours.come('heartbeat'))[0]?.data, {
    monitorId: monitor.id,
    latency: 3,
    source: alice.id,
    message: null
  })
  t.same([...theirs.events('state'), ...theirs.events('heartbeat')], [])
})

t.test('who comes back misses nothing, and who was away too long is told so', async (t) => {
  const before = await watch(t)
  await report('up')
  const [first] = await before.come('state')
  await before.close()
  await report('degraded')
  const after = await watch(t, { lastEventId: first?.id ?? '' })
  t.match((await after.come('state'))[0]?.data, { from: 'up', to: 'degraded' })
  t.same(after.events('resync'), [])
  t.match(await after.come('presence'), [{ data: { agentId: agent.id, presence: 'never_connected' } }])
  const late = await watch(t, { lastEventId: `${Date.now() - 400_000}-0.0` })
  await late.come('resync')
})

t.test('heartbeats of the named monitor come in full, of others the newest of a second', async (t) => {
  const named = await watch(t, { query: `?monitorId=${monitor.id}` })
  const other = await watch(t)
  await waitFor(async () => {
    await report('up')
    return named.events('heartbeat').length > 0
  })
  const stamps = (seen: Seen[]) => seen.map(({ data }) => data.timestamp)
  const base = Date.now()
  const items = Array.from({ length: 40 }, (_, i) => ({
    monitorId: monitor.id,
    status: 'up',
    latency: i,
    timestamp: new Date(base + i).toISOString()
  }))
  last = base + 100
  const quiet = performance.now() + 1100
  await waitFor(() => performance.now() > quiet)
  await api.call('POST', '/api/heartbeats', { as: alice.jwt, json: items })
  await waitFor(() => stamps(named.events('heartbeat')).includes(items[39]?.timestamp))
  await waitFor(() => stamps(other.events('heartbeat')).includes(items[39]?.timestamp))
  for (const { timestamp } of items) t.ok(stamps(named.events('heartbeat')).includes(timestamp))
  t.ok(items.filter(({ timestamp }) => stamps(other.events('heartbeat')).includes(timestamp)).length < 3)
})

t.test('only people may watch, and only their own', async (t) => {
  expectProblem(t, await api.call('GET', '/v1/live'), 401, 'unauthorized')
  expectProblem(t, await api.call('GET', '/v1/live', { as: agent.apiKey }), 403, 'forbidden')
  const foreign = await api.call('GET', `/v1/live?monitorId=${monitor.id}`, { as: charlie.jwt })
  expectProblem(t, foreign, 404, 'not_found')
})

t.test('a stream ends when the server stops', async (t) => {
  const addresses = { apiUrl: api.apiUrl, siteUrl: api.apiUrl }
  const server = await apiFor(t, stores, { addresses })
  const stream = await watch(t, { to: server })
  await waitFor(() => stream.text() !== '')
  const began = performance.now()
  await server.stop()
  t.ok(performance.now() - began < 3000)
  await waitFor(() => stream.ended())
})
