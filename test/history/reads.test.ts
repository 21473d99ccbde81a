import { t } from 'tap'
import type { RollupRowAnswer } from '../../shared/contract/heartbeats.ts'
import type { MonitorState } from '../../shared/contract/monitors.ts'
import { coverByMaintenance, secondsByState, uptimeOf } from '../../shared/state-seconds.ts'
import { rollUp } from '../../worker/rollup.ts'
import { apiFor } from '../support/api.ts'
import { createAgent, createCast, createMonitor } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { keyOf } from '../support/jobs.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'
import { beginRollups, putHeartbeats } from '../support/raw-history.ts'

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]
/** Noon: neither hour nor day ends while the test runs. */
const NOW = Math.floor(Date.now() / DAY) * DAY + 12 * HOUR + 7 * MINUTE + 30_000
const BORN = Math.floor(NOW / HOUR) * HOUR - 3 * DAY
const time = (ms: number) => new Date(ms).toISOString()

const stores = await openStores(t)
const { db } = stores
const api = await apiFor(t, stores, { clock: () => NOW })
const { alice, charlie, monitor } = await createCast(api)
const key = await keyOf(stores, monitor.id)
await db.query('update monitors set created_at = $2 where key = $1', [key, new Date(BORN)])

/** One heartbeat a minute, down within the second hour of each day. Its latency is its minute of the hour. */
const beats = Array.from({ length: (NOW - BORN) / MINUTE - 1 }, (_, i) => {
  const timestamp = BORN + (i + 1) * MINUTE
  const down = Math.floor((timestamp - BORN) / HOUR) % 24 === 1
  return { timestamp, status: down ? ('down' as const) : ('up' as const), latency: (i + 1) % 60 }
})
await beginRollups(stores, BORN - (BORN % DAY))
await putHeartbeats(stores, key, beats)

async function putTransitions(of: number, changes: Array<[from: MonitorState, to: MonitorState, at: number]>) {
  for (const [from, to, at] of changes) {
    await db.query(
      `insert into transitions (monitor_key, organization_id, from_state, to_state, at, reason)
       values ($1, $2, $3, $4, $5, 'reported')`,
      [of, alice.organizationId, from, to, new Date(at)]
    )
  }
}
await putTransitions(key, [
  ['pending', 'up', BORN + MINUTE],
  ...[0, 1, 2].flatMap(
    (day): Array<[MonitorState, MonitorState, number]> => [
      ['up', 'down', BORN + day * DAY + HOUR],
      ['down', 'up', BORN + day * DAY + 2 * HOUR]
    ]
  )
])
await db.query(
  `update monitor_states set state = 'up', state_reason = 'reported', observed = 'up', last_received_at = $2
   where monitor_key = $1`,
  [key, new Date(NOW - 5000)]
)
await rollUp({ db, clock: () => NOW })

interface Page {
  data: RollupRowAnswer[]
  nextCursor: string | null
  resolution: string
  retentionFrom: string | null
  clamped: boolean
}
const get = (path: string, as = alice.jwt) => api.call('GET', path, { as })
const history = async (query: string) => (await get(`/api/heartbeats?monitorId=${monitor.id}&${query}`)).body as Page

t.test('an hour of the history adds up what its heartbeats and state changes say', async (t) => {
  const { data, resolution, nextCursor } = await history(
    `resolution=1h&order=asc&from=${time(BORN)}&to=${time(BORN + 3 * HOUR)}`
  )
  t.equal(resolution, '1h')
  t.equal(nextCursor, null)
  t.same(
    data.map(({ timestamp, heartbeats, seconds, uptime }) => ({ timestamp, heartbeats, seconds, uptime })),
    [
      [59, 0, 60, 3540, 0, 1],
      [0, 60, 0, 0, 3600, 0],
      [60, 0, 0, 3600, 0, 1]
    ].map(([up, down, pending, upSeconds, downSeconds, uptime], i) => ({
      timestamp: time(BORN + i * HOUR),
      heartbeats: { up, down, degraded: 0, start: 0, log: 0 },
      seconds: { pending, up: upSeconds, down: downSeconds, degraded: 0, unknown: 0, paused: 0, maintenance: 0 },
      uptime
    }))
  )
  t.equal(data[1]?.latency, null, 'who did not answer took no time')
  const latency = data[2]?.latency
  t.match(latency, { count: 60, mean: 29.5, min: 0, max: 59 })
  for (const [got, exact] of [
    [latency?.p50, 29],
    [latency?.p95, 56],
    [latency?.p99, 59]
  ] as const) {
    t.ok(Math.abs((got ?? 0) - exact) <= 0.02 * exact, `${got} is ${exact} within 2 %`)
  }
})

for (const resolution of ['5m', '1h', '1d']) {
  for (const order of ['asc', 'desc']) {
    t.test(`pages of ${resolution} hold every bucket once, ${order}, the one that is not over too`, async (t) => {
      const seen: RollupRowAnswer[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const page: Page = await history(
          `resolution=${resolution}&limit=300&order=${order}${cursor && `&cursor=${cursor}`}`
        )
        t.ok(page.data.length <= 300)
        seen.push(...page.data)
        cursor = page.nextCursor
      }
      const times = seen.map(({ timestamp }) => timestamp)
      t.same([...times].sort(), order === 'asc' ? times : times.reverse())
      t.equal(new Set(times).size, seen.length)
      const sum = (read: (row: RollupRowAnswer) => number) => seen.reduce((total, row) => total + read(row), 0)
      t.equal(
        sum(({ heartbeats }) => heartbeats.up + heartbeats.down),
        beats.length
      )
      t.equal(
        sum(({ seconds }) => seconds.down),
        3 * 3600
      )
      t.equal(
        sum(({ seconds }) => seconds.up + seconds.pending),
        (NOW - BORN) / 1000 - 3 * 3600
      )
    })
  }
}

t.test('auto takes the finest resolution that fits the window and is kept', async (t) => {
  const taken = async (from: number, to: number) =>
    (await history(`resolution=auto&from=${time(from)}&to=${time(to)}&limit=1`)).resolution
  t.equal(await taken(NOW - DAY, NOW), 'raw')
  t.equal(await taken(NOW - 2 * DAY, NOW), '5m')
  t.equal(await taken(NOW - 30 * DAY, NOW), '1h')
  t.equal(await taken(NOW - 200 * DAY, NOW), '1d')
  t.equal(await taken(NOW - 60 * DAY, NOW - 60 * DAY + HOUR), '5m', 'raw is kept for 30 days')
  t.equal(await taken(NOW - 1000 * DAY, NOW - 1000 * DAY + HOUR), '1d')
  t.equal((await history(`resolution=auto&status=up&from=${time(NOW - 20 * DAY)}`)).resolution, 'raw')
})

t.test('a cursor goes on in its own resolution', async (t) => {
  const first = await history(`resolution=auto&from=${time(NOW - 2 * DAY)}&limit=1`)
  const second = await history(`resolution=auto&limit=1&cursor=${first.nextCursor}`)
  t.equal(second.resolution, '5m')
  t.equal(Date.parse(second.data[0]?.timestamp ?? ''), Date.parse(first.data[0]?.timestamp ?? '') - 5 * MINUTE)
  const other = await get(`/api/heartbeats?monitorId=${monitor.id}&resolution=1h&cursor=${first.nextCursor}`)
  expectProblem(t, other, 400, 'invalid_cursor')
})

t.test('a window wholly beyond the retention is empty and says so', async (t) => {
  for (const [resolution, days] of [
    ['raw', 30],
    ['5m', 90],
    ['1h', 400]
  ] as const) {
    const window = `from=${time(NOW - 3000 * DAY)}&to=${time(NOW - 2000 * DAY)}`
    t.same(await history(`resolution=${resolution}&${window}`), {
      data: [],
      nextCursor: null,
      resolution,
      retentionFrom: time(NOW - days * DAY),
      clamped: true
    })
  }
  t.match(await history(`to=${time(NOW - 2000 * DAY)}`), { data: [], clamped: true }, 'also when only its end is named')
  t.match(await history(`resolution=1d&from=${time(0)}&to=${time(DAY)}`), {
    data: [],
    retentionFrom: null,
    clamped: false
  })
})

t.test('a smaller plan shows less at once', async (t) => {
  await db.query("update organizations set plan = 'free' where id = $1", [alice.organizationId])
  t.match(await history(`from=${time(NOW - 20 * DAY)}`), { retentionFrom: time(NOW - 7 * DAY), clamped: true })
  t.match(await history(`resolution=1d&from=${time(0)}`), { retentionFrom: time(NOW - 400 * DAY), clamped: true })
  await db.query("update organizations set plan = 'self-hosted' where id = $1", [alice.organizationId])
})

interface Summary extends RollupRowAnswer {
  from: string
  to: string
  resolution: string
  buckets: Array<RollupRowAnswer & { at: string }>
}
const summary = async (query = '', id = monitor.id) => (await get(`/v1/monitors/${id}/summary${query}`)).body as Summary

t.test('a summary tells uptime by time, percentiles and buckets', async (t) => {
  const whole = await summary(`?from=${time(BORN)}`)
  t.match(whole, { resolution: '1h', from: time(BORN), to: time(NOW), clamped: false, heartbeats: { down: 180 } })
  const [total, down] = [(NOW - BORN) / 1000 - 60, 3 * 3600]
  t.equal(whole.uptime, (total - down) / total)
  t.equal(whole.buckets.length, 73)
  t.equal(whole.buckets[1]?.uptime, 0)
  t.equal(whole.latency?.count, beats.length - 180)
  const day = await summary()
  t.match(day, { resolution: '5m', from: time(Math.floor((NOW - DAY) / (5 * MINUTE)) * 5 * MINUTE) })
  t.equal(day.uptime, 1 - 3600 / ((NOW - Date.parse(day.from)) / 1000))
  t.equal((await summary(`?from=${time(NOW - 100 * DAY)}`)).resolution, '1d')
})

t.test('time in which nobody could know counts neither way', async (t) => {
  const other = await createMonitor(api, alice.jwt, { name: 'Other', kind: 'heartbeat' })
  const otherKey = await keyOf(stores, other.id)
  await db.query('update monitors set created_at = $2 where key = $1', [otherKey, new Date(NOW - 10 * HOUR)])
  await putTransitions(otherKey, [
    ['pending', 'degraded', NOW - 9 * HOUR],
    ['degraded', 'unknown', NOW - 8 * HOUR],
    ['unknown', 'down', NOW - 5 * HOUR],
    ['down', 'paused', NOW - 4 * HOUR]
  ])
  const { uptime, seconds, latency } = await summary('', other.id)
  t.equal(uptime, 0.5)
  t.match(seconds, { pending: 3600, degraded: 3600, unknown: 3 * 3600, down: 3600, paused: 4 * 3600, up: 0 })
  t.equal(latency, null)
  const fresh = await createMonitor(api, alice.jwt, { name: 'Fresh', kind: 'heartbeat' })
  t.match(await summary('', fresh.id), { uptime: null, latency: null })
})

t.test('maintenance covers whatever state there was', (t) => {
  const states = [
    { state: 'up' as const, from: 0, to: 10_000 },
    { state: 'down' as const, from: 10_000, to: 20_000 }
  ]
  const windows = [
    { from: 2000, to: 4000 },
    { from: 8000, to: 15_000 },
    { from: 19_000, to: 30_000 }
  ]
  const seconds = secondsByState(coverByMaintenance(states, windows), 0, 20_000)
  t.match(seconds, { up: 6, down: 4, maintenance: 10 })
  t.equal(uptimeOf(seconds), 0.6)
  t.same(coverByMaintenance(states, []), states)
  t.end()
})

t.test('incidents are the times of being down, newest first, page by page', async (t) => {
  const first = (await get(`/v1/monitors/${monitor.id}/incidents?limit=2`)).body as Page
  const incident = (day: number) => ({
    from: time(BORN + day * DAY + HOUR),
    to: time(BORN + day * DAY + 2 * HOUR),
    seconds: 3600,
    reason: 'reported'
  })
  t.same(first.data, [incident(2), incident(1)])
  const second = (await get(`/v1/monitors/${monitor.id}/incidents?limit=2&cursor=${first.nextCursor}`)).body as Page
  t.same(second, { data: [incident(0)], nextCursor: null, retentionFrom: null, clamped: false })
})

t.test('an incident that lasts has no end', async (t) => {
  const { id } = await createMonitor(api, alice.jwt, { name: 'Down', kind: 'heartbeat' })
  await putTransitions(await keyOf(stores, id), [['pending', 'down', NOW - HOUR]])
  t.match((await get(`/v1/monitors/${id}/incidents`)).body, {
    data: [{ from: time(NOW - HOUR), to: null, seconds: 3600 }]
  })
})

t.test('the explanation names state, reason and the newest heartbeat', async (t) => {
  const newest = new Date(beats.at(-1)?.timestamp ?? 0)
  await db.query(`update heartbeats set message = 'well' where monitor_key = $1 and "timestamp" = $2`, [key, newest])
  const { body } = await get(`/v1/monitors/${monitor.id}/explain`)
  t.match(body, {
    state: 'up',
    reason: 'reported',
    sentence:
      /^"Shop" is up since .*Z\. The newest heartbeat says so: "well"\. Without a heartbeat it counts as missed at/,
    observed: 'up',
    expectedAt: time(NOW - 5000 + MINUTE),
    deadlineAt: time(NOW - 5000 + 90_000),
    lastHeartbeat: { timestamp: time(beats.at(-1)?.timestamp ?? 0), status: 'up', monitorId: monitor.id }
  })
  const fresh = await createMonitor(api, alice.jwt, { name: 'New', kind: 'heartbeat' })
  t.match((await get(`/v1/monitors/${fresh.id}/explain`)).body, {
    state: 'pending',
    sentence: /No heartbeat has come yet/,
    lastHeartbeat: null
  })
})

for (const path of ['summary', 'incidents', 'explain', 'transitions']) {
  t.test(`${path} of another organization, or outside a key's set, is not there`, async (t) => {
    expectProblem(t, await get(`/v1/monitors/${monitor.id}/${path}`, charlie.jwt), 404, 'not_found')
    const fields = { name: path, kind: 'service', scopes: ['monitors:read'] }
    const outside = await createAgent(api, alice.jwt, { ...fields, monitorIds: [] })
    expectProblem(t, await get(`/v1/monitors/${monitor.id}/${path}`, outside.apiKey), 404, 'not_found')
    const inside = await createAgent(api, alice.jwt, { ...fields, monitorIds: [monitor.id] })
    t.equal((await get(`/v1/monitors/${monitor.id}/${path}`, inside.apiKey)).status, 200)
  })
}

t.test('a summary that ends before it begins is refused', async (t) => {
  const answer = await get(`/v1/monitors/${monitor.id}/summary?from=${time(NOW)}&to=${time(NOW - HOUR)}`)
  t.same(faultsOf(expectProblem(t, answer, 422, 'validation_failed')), ['?from invalid_value'])
})
