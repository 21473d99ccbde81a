import { t } from 'tap'
import type { RecordStatus } from '../../shared/protocol/heartbeat.ts'
import { apiFor } from '../support/api.ts'
import { createCast } from '../support/cast.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { rawRequest } from '../support/raw-http.ts'
import { waitFor } from '../support/wait-for.ts'

interface Row {
  status: RecordStatus
  latency: number | null
  message: string | null
}

const stores = await openStores(t)
const api = await apiFor(t, stores)
await workerFor(t, stores)
const { alice, pushMonitor } = await createCast(api)
const path = `/api${pushMonitor.pushPath}`
const UNKNOWN = '{"ok":false,"msg":"Monitor not found or not active."}'
const BAD_PING = '{"ok":false,"msg":"Invalid ping value. Must be between 0 and 100000000000 ms."}'
let recorded = 0

async function raw(method: string, target: string, extra = '', body = '') {
  const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`
  return rawRequest(
    { port: api.port },
    `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${extra}${length}\r\n${body}`
  )
}

/** The newest row of the monitor, once there is one more than before. */
async function newest(): Promise<Row | undefined> {
  recorded++
  const { data } = await waitFor(async () => {
    const { body } = await api.call('GET', `/api/heartbeats?monitorId=${pushMonitor.id}`, { as: alice.jwt })
    const history = body as { data: Row[] }
    return history.data.length === recorded && history
  })
  return data[0]
}

t.test('the answers are those of Uptime Kuma, byte for byte', async (t) => {
  const good = await raw('GET', path)
  t.match(good, { statusLine: 'HTTP/1.1 200 OK', body: '{"ok":true}' })
  t.equal(good.header('content-type'), 'application/json; charset=utf-8')
  t.equal(good.header('x-frame-options'), 'SAMEORIGIN')
  t.equal(good.header('access-control-allow-origin'), undefined)
  t.match(await newest(), { status: 'up', latency: null, message: 'OK' })
  const bad: Array<[target: string, body: string]> = [
    [`/api/push/${'x'.repeat(32)}`, UNKNOWN],
    ['/api/push/short', UNKNOWN],
    ['/api/push/%zz', UNKNOWN],
    ['/api/push/%F0%9F%92%A9%00', UNKNOWN],
    [`${path}?ping=-1`, BAD_PING],
    [`${path}?ping=100000000001`, BAD_PING],
    [`${path}?ping=Infinity`, BAD_PING],
    [`/api/push/${'x'.repeat(32)}?ping=-1`, BAD_PING]
  ]
  for (const [target, body] of bad) {
    const answer = await raw('GET', target)
    t.match(answer, { status: 404, body }, target)
    t.equal(answer.header('content-type'), 'application/json; charset=utf-8', target)
  }
})

const readings: Array<[query: string, row: Row]> = [
  ['?status=up&msg=OK&ping=', { status: 'up', latency: null, message: 'OK' }],
  ['?status=', { status: 'up', latency: null, message: 'OK' }],
  ['?status=down&msg=disk%20full&ping=12.5', { status: 'down', latency: 12.5, message: 'disk full' }],
  ['?status=UP', { status: 'down', latency: null, message: 'OK' }],
  ['?status=pending', { status: 'down', latency: null, message: 'OK' }],
  ['?status=up&status=up', { status: 'down', latency: null, message: 'OK' }],
  ['?msg=&ping=0', { status: 'up', latency: null, message: 'OK' }],
  ['?ping=12ms', { status: 'up', latency: 12, message: 'OK' }],
  ['?ping=fast', { status: 'up', latency: null, message: 'OK' }],
  ['?msg=a%00b&unknown=1', { status: 'up', latency: null, message: 'a\uFFFDb' }]
]
for (const [query, row] of readings) {
  t.test(`${query} is read as ${row.status} with ${row.latency} ms`, async (t) => {
    t.match(await raw('GET', path + query), { status: 200, body: '{"ok":true}' })
    t.match(await newest(), row)
  })
}

for (const method of ['HEAD', 'POST', 'PUT', 'OPTIONS', 'DELETE']) {
  t.test(`${method} records as well, whatever the body`, async (t) => {
    const answer = await raw(
      method,
      `${path}?msg=${method}`,
      'Content-Type: application/json\r\n',
      method === 'HEAD' ? '' : '{no json'
    )
    t.match(answer, { status: 200, body: method === 'HEAD' ? '' : '{"ok":true}' })
    t.match(await newest(), { status: 'up', message: method })
  })
}

t.test('case of the path and a slash at its end do not matter', async (t) => {
  t.equal((await raw('GET', `/API/Push/${path.split('/').pop()}/`)).status, 200)
  await newest()
})
