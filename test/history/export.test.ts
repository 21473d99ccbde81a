import { get as request } from 'node:http'
import { t } from 'tap'
import { acceptedFormat, type Batch, exportRows } from '../../api/history/export.ts'
import type { HistoryRowAnswer } from '../../shared/contract/heartbeats.ts'
import { apiFor } from '../support/api.ts'
import { createCast } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { keyOf } from '../support/jobs.ts'
import { putHeartbeats } from '../support/raw-history.ts'

const ROWS = 50_000
const HOUR = 3_600_000
const NOW = Date.now()

const stores = await openStores(t)
const api = await apiFor(t, stores)
const { alice, monitor } = await createCast(api)
const key = await keyOf(stores, monitor.id)
await putHeartbeats(
  stores,
  key,
  Array.from({ length: ROWS }, (_, i) => ({ timestamp: NOW - HOUR - i * 10, latency: i }))
)
await stores.db.query(`update heartbeats set message = '=1+1,"x"' where latency = 0`)

const path = `/api/heartbeats?monitorId=${monitor.id}`
const get = (query: string, headers = {}) => api.call('GET', `${path}${query}`, { as: alice.jwt, headers })

t.test('50,000 heartbeats come whole and in order as NDJSON', async (t) => {
  const { status, headers, body } = await get('', { accept: 'application/x-ndjson' })
  t.equal(status, 200)
  t.equal(headers.get('content-type'), 'application/x-ndjson')
  t.equal(headers.get('pulsegate-resolution'), 'raw')
  t.equal(headers.get('pulsegate-clamped'), 'false')
  t.ok(Date.parse(headers.get('pulsegate-retention-from') ?? '') < NOW - 29 * 24 * HOUR)
  t.match(headers.get('content-disposition'), /attachment; filename="heartbeats-.*-raw\.ndjson"/)
  t.equal(headers.get('x-content-type-options'), 'nosniff')
  const rows = String(body).trimEnd().split('\n')
  t.equal(rows.length, ROWS)
  t.ok(rows.every((row, i) => (JSON.parse(row) as HistoryRowAnswer).latency === i))
})

t.test('CSV has a head, quotes what must be quoted and lets no message become a formula', async (t) => {
  const { headers, body } = await get('&format=csv&limit=2')
  t.equal(headers.get('content-type'), 'text/csv; charset=utf-8')
  const lines = String(body).split('\r\n')
  t.equal(lines.length, 4, 'a head, two rows, and the end of the last line')
  t.equal(lines[0], 'monitorId,timestamp,status,latency,receivedAt,source,message')
  t.match(lines[1], /^[-0-9a-f]{36},[-0-9T:.]+Z,up,0,.*,"'=1\+1,""x"""$/)
})

t.test('a limit above a page ends the export where it says', async (t) => {
  const { body } = await get('&format=ndjson&limit=1000&order=asc')
  t.equal(String(body).trimEnd().split('\n').length, 1000)
})

t.test('buckets come as CSV too', async (t) => {
  const { body } = await get(`&format=csv&resolution=1h&from=${new Date(NOW - 4 * HOUR).toISOString()}`)
  const [head = '', ...lines] = String(body).trimEnd().split('\r\n')
  t.match(head, /^monitorId,timestamp,uptime,heartbeats\.up,.*latency\.p99$/)
  t.ok(lines.length >= 1)
  t.ok(lines.every((line) => line.split(',').length === head.split(',').length))
})

t.test('HEAD tells the headers alone, and JSON stays what is answered to everybody else', async (t) => {
  const head = await api.call('HEAD', `${path}&format=csv`, { as: alice.jwt })
  t.match(head, { status: 200, body: '' })
  t.equal(head.headers.get('content-type'), 'text/csv; charset=utf-8')
  t.match(await get('&limit=1', { accept: '*/*' }), { status: 200, body: { resolution: 'raw' } })
})

t.test('a client that leaves in the middle takes nothing with it', async (t) => {
  await new Promise<void>((resolve, reject) => {
    const headers = { authorization: `Bearer ${alice.jwt}` }
    const leaving = request({ host: 'localhost', port: api.port, path: `${path}&format=csv`, headers }, (response) => {
      response.once('data', () => response.destroy())
      response.on('close', () => resolve())
    })
    leaving.on('error', reject)
  })
  t.equal((await get('&limit=1')).status, 200)
})

t.test('nothing is read that nobody takes', async (t) => {
  const batch = (next: string | null): Batch => ({ rows: [], next })
  let reads = 0
  const read = async () => {
    reads++
    return { ...batch('more'), rows: [{} as HistoryRowAnswer] }
  }
  const rows = exportRows({ format: 'ndjson', raw: true, first: batch('more'), read })
  t.equal(reads, 0)
  await rows.next()
  await rows.next()
  t.equal(reads, 2)
  await rows.return()
  t.same(await rows.next(), { value: undefined, done: true })
  t.equal(reads, 2)
})

for (const [accept, format] of [
  [undefined, 'json'],
  ['*/*', 'json'],
  ['text/html', 'json'],
  ['text/csv', 'csv'],
  ['Text/CSV; charset=utf-8', 'csv'],
  ['application/json, text/csv', 'json'],
  ['application/json;q=0.5, text/csv', 'csv'],
  ['text/csv;q=0, application/ndjson;q=0.1', 'ndjson']
] as const) {
  t.test(`Accept: ${accept ?? '(none)'} asks for ${format}`, (t) => {
    t.equal(acceptedFormat(accept), format)
    t.end()
  })
}
