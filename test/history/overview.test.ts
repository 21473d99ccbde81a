import { t } from 'tap'
import type { MonitorAnswer, MonitorState } from '../../shared/contract/monitors.ts'
import { rollUp } from '../../worker/rollup.ts'
import { apiFor } from '../support/api.ts'
import { createAgent, createCast, createMonitor } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { keyOf } from '../support/jobs.ts'
import { expectProblem } from '../support/problems.ts'
import { beginRollups, putHeartbeats } from '../support/raw-history.ts'

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]
/** Noon: neither hour nor day ends while the test runs. */
const NOW = Math.floor(Date.now() / DAY) * DAY + 12 * HOUR + 7 * MINUTE + 30_000
/** Where the oldest of the sixty buckets begins. */
const FIRST = NOW - (NOW % (5 * MINUTE)) - 59 * 5 * MINUTE

const stores = await openStores(t)
const { db } = stores
const api = await apiFor(t, stores, { clock: () => NOW })
const { alice, charlie, monitor } = await createCast(api)
const key = await keyOf(stores, monitor.id)
await db.query('update monitors set created_at = $2 where key = $1', [key, new Date(NOW - 10 * DAY)])
await beginRollups(stores, NOW - DAY - (NOW % DAY))

async function change(from: MonitorState, to: MonitorState, at: number): Promise<void> {
  await db.query(
    `insert into transitions (monitor_key, organization_id, from_state, to_state, at, reason)
     values ($1, $2, $3, $4, $5, 'reported')`,
    [key, alice.organizationId, from, to, new Date(at)]
  )
}

const list = async (query: string, as = alice.jwt) => {
  const { body } = await api.call('GET', `/v1/monitors?${query}`, { as })
  return (body as { data: MonitorAnswer[] }).data
}
const overviewOf = async (id: string) => (await list('expand=overview')).find((one) => one.id === id)?.overview

t.test('a list says nothing of the past unless it is asked to', async (t) => {
  t.notOk((await list('limit=1000')).some(({ overview }) => overview !== undefined))
  expectProblem(t, await api.call('GET', '/v1/monitors?expand=all', { as: alice.jwt }), 422, 'validation_failed')
})

t.test('a monitor that was never heard of has no uptime and sixty empty buckets', async (t) => {
  const fresh = await createMonitor(api, alice.jwt, { name: 'fresh', kind: 'push' })
  const overview = await overviewOf(fresh.id)
  t.same(overview?.uptime, { '24h': null, '7d': null, '30d': null, '90d': null })
  t.same(
    overview?.recent,
    Array.from({ length: 60 }, () => ({ status: null, latency: null }))
  )
})

t.test('uptime and buckets are those of the heartbeats, the rolled up and the newest, and of silence', async (t) => {
  await change('pending', 'up', NOW - 8 * DAY)
  await change('up', 'down', NOW - 2 * DAY)
  await change('down', 'up', NOW - 2 * DAY + 6 * HOUR)
  // Silent for the third and fourth bucket of the window.
  await change('up', 'down', FIRST + 10 * MINUTE)
  await change('down', 'up', FIRST + 20 * MINUTE)
  await db.query(`update monitor_states set state = 'up', state_reason = 'reported' where monitor_key = $1`, [key])
  await putHeartbeats(stores, key, [
    { timestamp: FIRST - 1000, status: 'down' },
    { timestamp: FIRST + 1000, latency: 10 },
    { timestamp: FIRST + 2000, latency: 20 },
    { timestamp: FIRST + 5 * MINUTE, latency: 40 },
    { timestamp: FIRST + 6 * MINUTE, status: 'degraded', latency: 60 },
    { timestamp: FIRST + 21 * MINUTE, status: 'down', latency: 5 }
  ])
  await rollUp({ db, clock: () => NOW })
  await putHeartbeats(stores, key, [{ timestamp: NOW - 1000, latency: 7 }])
  const overview = await overviewOf(monitor.id)
  const buckets = overview?.recent ?? []
  t.equal(buckets.length, 60)
  t.same(buckets.slice(0, 6), [
    { status: 'up', latency: 15 },
    { status: 'degraded', latency: 50 },
    { status: 'down', latency: null },
    { status: 'down', latency: null },
    { status: 'down', latency: null },
    { status: 'up', latency: null }
  ])
  t.same(buckets.at(-1), { status: 'up', latency: 7 })
  t.ok(
    buckets.slice(5).every(({ status }) => status === 'up'),
    'it was up between its heartbeats as well'
  )
  const close = (got: number | null | undefined, wanted: number) => t.ok(Math.abs((got ?? 0) - wanted) < 1e-9)
  close(overview?.uptime['24h'], 1 - (10 * MINUTE) / DAY)
  close(overview?.uptime['7d'], 1 - (6 * HOUR + 10 * MINUTE) / (7 * DAY))
  close(overview?.uptime['30d'], 1 - (6 * HOUR + 10 * MINUTE) / (8 * DAY))
  t.equal(overview?.uptime['30d'], overview?.uptime['90d'])
})

t.test('a stranger and a key see overviews of their own monitors only', async (t) => {
  const others = await list('expand=overview', charlie.jwt)
  t.notOk(others.some(({ id }) => id === monitor.id))
  const { apiKey } = await createAgent(api, alice.jwt, {
    name: 'reader',
    monitorIds: [monitor.id],
    scopes: ['monitors:read']
  })
  const [own, ...more] = await list('expand=overview', apiKey)
  t.equal(own?.id, monitor.id)
  t.equal(own?.overview?.recent.length, 60)
  t.same(more, [])
})
