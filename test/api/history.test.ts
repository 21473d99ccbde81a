import { t } from 'tap'
import { v7 as uuidv7 } from 'uuid'
import { apiFor } from '../support/api.ts'
import { createAgent, createCast } from '../support/cast.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'

interface Page {
  data: Array<{ timestamp: string; status: string; latency: number | null; source: string; message: string | null }>
  nextCursor: string | null
  retentionFrom: string
  clamped: boolean
}

const HOUR = 3_600_000
const stores = await openStores(t)
const api = await apiFor(t, stores)
// It makes the days of the history.
await workerFor(t, stores)
const { alice, monitor, pushMonitor } = await createCast(api)
const [{ key } = { key: 0 }] = await stores.db.query<{ key: number }>('select key from monitors where id = $1', [
  monitor.id
])
const start = Date.now() - 10 * HOUR
const sources = [uuidv7(), uuidv7()]
const STATUS = ['up', 'down', 'degraded', 'start', 'log']

/** Twenty rows, one in each half of an hour; two of each time by two sources. */
for (let i = 0; i < 20; i++) {
  await stores.db.query(
    `insert into heartbeats (monitor_key, "timestamp", latency, received_at, source_id, organization_id, status, message)
     values ($1, $2, $3, $2, $4, $5, $6, $7)`,
    [
      key,
      new Date(start + Math.floor(i / 2) * HOUR),
      i === 7 ? null : i,
      sources[i % 2],
      alice.organizationId,
      i % 5,
      i === 3 ? 'm' : null
    ]
  )
}

const get = (query: string, as = alice.jwt) => api.call('GET', `/api/heartbeats?${query}`, { as })
const page = async (query: string) => (await get(`monitorId=${monitor.id}&${query}`)).body as Page
const time = (ms: number) => new Date(ms).toISOString()

t.test('history comes newest first', async (t) => {
  const { data, nextCursor } = await page('')
  t.equal(data.length, 20)
  t.equal(nextCursor, null)
  t.same(
    data.map((row) => row.timestamp),
    data
      .map((row) => row.timestamp)
      .sort()
      .reverse()
  )
  t.same(data.filter((row) => row.latency === null).length, 1)
  t.match(
    data.find((row) => row.latency === 3),
    { status: 'start', message: 'm', source: sources[1], receivedAt: /Z$/ }
  )
})

for (const order of ['asc', 'desc']) {
  t.test(`pages of 3 hold every row once, ${order}`, async (t) => {
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { data, nextCursor }: Page = await page(`limit=3&order=${order}${cursor && `&cursor=${cursor}`}`)
      seen.push(...data.map((row) => `${row.timestamp} ${row.source}`))
      cursor = nextCursor
    }
    t.equal(new Set(seen).size, 20)
    const sorted = [...seen].sort()
    t.same(seen, order === 'asc' ? sorted : sorted.reverse())
  })
}

t.test('the window has its beginning in it and its end not', async (t) => {
  const { data, clamped } = await page(`from=${time(start + HOUR)}&to=${time(start + 3 * HOUR)}&order=asc`)
  t.same(
    data.map((row) => row.timestamp),
    [1, 1, 2, 2].map((hours) => time(start + hours * HOUR))
  )
  t.equal(clamped, false)
  const backwards = await get(`monitorId=${monitor.id}&from=${time(start + 3 * HOUR)}&to=${time(start)}`)
  t.same(faultsOf(expectProblem(t, backwards, 422, 'validation_failed')), ['?from invalid_value'])
})

t.test('a window that begins before the retention is cut, and says so', async (t) => {
  const { clamped, retentionFrom, data } = await page('from=2020-01-01T00:00:00Z')
  t.equal(clamped, true)
  t.equal(data.length, 20)
  const days = (Date.now() - Date.parse(retentionFrom)) / (24 * HOUR)
  t.ok(days > 29.9 && days < 30.1, `${days} days`)
})

for (const status of STATUS) {
  t.test(`a status filter shows the rows with ${status} alone`, async (t) => {
    const { data } = await page(`status=${status}`)
    t.equal(data.length, 4)
    t.ok(data.every((row) => row.status === status))
  })
}

const refused: Array<[query: string, fault: string]> = [
  ['', '?monitorId missing_field'],
  ['monitorId=x', '?monitorId invalid_value'],
  [`monitorId=${monitor.id}&limit=0`, '?limit invalid_value'],
  [`monitorId=${monitor.id}&limit=1001`, '?limit invalid_value'],
  [`monitorId=${monitor.id}&limit=many`, '?limit invalid_value'],
  [`monitorId=${monitor.id}&from=yesterday`, '?from invalid_value'],
  [`monitorId=${monitor.id}&resolution=2h`, '?resolution invalid_value'],
  [`monitorId=${monitor.id}&resolution=1h&status=up`, '?status invalid_value'],
  [`monitorId=${monitor.id}&from=2999-01-01T00:00:00Z`, '?from invalid_value'],
  [`monitorId=${monitor.id}&format=xml`, '?format invalid_value'],
  [`monitorId=${monitor.id}&order=up`, '?order invalid_value'],
  [`monitorId=${monitor.id}&status=good`, '?status invalid_value'],
  [`monitorId=${monitor.id}&page=2`, '?page unknown_field']
]
for (const [query, fault] of refused) {
  t.test(`the query ${query.replace(monitor.id, '…') || '(empty)'} is refused as ${fault}`, async (t) => {
    t.same(faultsOf(expectProblem(t, await get(query), 422, 'validation_failed')), [fault])
  })
}

t.test('a cursor that is not ours is refused', async (t) => {
  for (const cursor of ['x', 'MS4y', '%00']) {
    expectProblem(t, await get(`monitorId=${monitor.id}&cursor=${cursor}`), 400, 'invalid_cursor')
  }
})

t.test('a key with the scope reads its own set alone', async (t) => {
  const fields = { name: 'Reader', kind: 'service', monitorIds: [monitor.id], scopes: ['heartbeats:read'] }
  const { apiKey } = await createAgent(api, alice.jwt, fields)
  const { body } = await get(`monitorId=${monitor.id}&limit=5`, apiKey)
  t.equal((body as Page).data.length, 5)
  expectProblem(t, await get(`monitorId=${pushMonitor.id}`, apiKey), 404, 'not_found')
  const writer = await createAgent(api, alice.jwt, { name: 'Writer', kind: 'service', monitorIds: [monitor.id] })
  expectProblem(t, await get(`monitorId=${monitor.id}`, writer.apiKey), 403, 'insufficient_scope')
})
