import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { createCast } from '../support/cast.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { waitFor } from '../support/wait-for.ts'

interface Row {
  status: string
  latency: number | null
  message: string | null
}

const stores = await openStores(t)
const api = await apiFor(t, stores)
await workerFor(t, stores)
const { alice, pushMonitor } = await createCast(api)
const path = pushMonitor.pushPath
let recorded = 0

async function newest(): Promise<Row | undefined> {
  recorded++
  const { data } = await waitFor(async () => {
    const { body } = await api.call('GET', `/api/heartbeats?monitorId=${pushMonitor.id}`, { as: alice.jwt })
    const history = body as { data: Row[] }
    return history.data.length === recorded && history
  })
  return data[0]
}

const signals: Array<[suffix: string, status: string, state: string]> = [
  ['', 'up', 'up'],
  ['/', 'up', 'up'],
  ['/fail', 'down', 'down'],
  ['/start', 'start', 'down'],
  ['/log', 'log', 'down'],
  ['/0', 'up', 'up'],
  ['/1', 'down', 'down'],
  ['/255', 'down', 'down'],
  ['?status=degraded', 'degraded', 'degraded'],
  ['?status=Down', 'down', 'down']
]
for (const [suffix, status, state] of signals) {
  t.test(`a push to …${suffix} is recorded as ${status}`, async (t) => {
    const { status: code, body, headers } = await api.call('GET', path + suffix)
    t.equal(code, 200)
    t.same(body, { ok: true, state })
    t.equal(headers.get('access-control-allow-origin'), '*')
    t.equal(headers.get('cache-control'), 'no-store')
    t.equal(headers.get('ping-body-limit'), '10000')
    t.match(await newest(), { status })
  })
}

t.test('the body is the message when there is no msg', async (t) => {
  await api.call('POST', path, { body: 'all is well', headers: { 'content-type': 'text/plain' } })
  t.match(await newest(), { message: 'all is well' })
  await api.call('POST', `${path}?msg=short&ping=7`, { body: 'all is well' })
  t.match(await newest(), { message: 'short', latency: 7 })
  await api.call('POST', path, { body: '{"a":', headers: { 'content-type': 'application/json' } })
  t.match(await newest(), { message: '{"a":' })
})

t.test('a long body is cut at 10,000 bytes, never inside a character', async (t) => {
  await api.call('POST', `${path}/log`, { body: 'ä'.repeat(400_000) })
  t.equal((await newest())?.message, 'ä'.repeat(5000))
  await api.call('POST', `${path}/log`, { body: `x${'ä'.repeat(400_000)}` })
  t.equal((await newest())?.message, `x${'ä'.repeat(4999)}`)
})

t.test('a body over 1 MiB is refused', async (t) => {
  const answer = await api.call('POST', path, { body: 'x'.repeat(1_048_577) })
  t.match(answer, { status: 413, body: { ok: false, msg: String } })
})

t.test('who asks for text gets OK', async (t) => {
  const { status, body, headers } = await api.call('GET', path, { headers: { accept: 'text/plain' } })
  t.match({ status, body }, { status: 200, body: 'OK' })
  t.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
  await newest()
})

t.test('HEAD records', async (t) => {
  t.equal((await api.call('HEAD', `${path}/fail`)).status, 200)
  t.match(await newest(), { status: 'down' })
})

const faults: Array<[path: string, status: number]> = [
  [`/push/${'x'.repeat(32)}`, 404],
  [`/push/${'x'.repeat(32)}/fail`, 404],
  ['/push/%zz', 404],
  [`${path}/256`, 400],
  [`${path}/nonsense`, 400],
  [`${path}?status=great`, 400],
  [`${path}?ping=-5`, 400]
]
for (const [target, status] of faults) {
  t.test(`${target.replace(path, '…')} is refused with ${status} in the dialect's own shape`, async (t) => {
    const answer = await api.call('GET', target)
    t.match(answer, { status, body: { ok: false, msg: String } })
    if (status === 404) t.same(answer.body, { ok: false, msg: 'Monitor not found or not active.' })
  })
}
