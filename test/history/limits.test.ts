import { t } from 'tap'
import { PLANS } from '../../shared/plans.ts'
import { apiFor } from '../support/api.ts'
import { createCast } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'

const stores = await openStores(t)
const api = await apiFor(t, stores)
const { alice, charlie, monitor } = await createCast(api)
const { limits } = PLANS.free

/** Charlie has the free plan, and one less than it allows. */
await stores.db.query("update organizations set plan = 'free' where id = $1", [charlie.organizationId])
await stores.db.query(
  `with m as (
     insert into monitors (id, organization_id, name, kind, interval_seconds, grace_seconds, timeout_seconds)
     select gen_random_uuid(), $1, 'm', 'heartbeat', 60, 30, 10 from generate_series(2, $2) returning key)
   insert into monitor_states (monitor_key, organization_id) select key, $1 from m`,
  [charlie.organizationId, limits.monitors]
)
await stores.db.query(
  `insert into agents (id, organization_id, name, kind, scopes)
   select gen_random_uuid(), $1, 'a', 'agent', '{}' from generate_series(2, $2)`,
  [charlie.organizationId, limits.agents]
)

for (const [path, body, limit] of [
  ['/v1/monitors', { name: 'One more', kind: 'push', intervalSeconds: 60 }, 'monitors'],
  ['/v1/agents', { name: 'One more', kind: 'agent' }, 'agents']
] as const) {
  t.test(`of ${limit} no more are made than the plan allows, not even at the same time`, async (t) => {
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => api.call('POST', path, { as: charlie.jwt, json: body }))
    )
    const refused = answers.filter(({ status }) => status !== 201)
    t.equal(refused.length, 3)
    for (const answer of refused) {
      const { detail } = expectProblem(t, answer, 409, 'limit_reached')
      t.match(answer.body, { limit, maximum: limits[limit] })
      t.match(detail, `${limits[limit]} ${limit}`)
    }
  })
}

t.test('an interval below what the plan allows is refused, on creation and on change', async (t) => {
  const json = { name: 'Quick', kind: 'heartbeat', intervalSeconds: 30 }
  expectProblem(t, await api.call('POST', '/v1/monitors', { as: charlie.jwt, json }), 409, 'limit_reached')
  await stores.db.query("update organizations set plan = 'free' where id = $1", [alice.organizationId])
  const patch = (intervalSeconds: number) =>
    api.call('PATCH', `/v1/monitors/${monitor.id}`, { as: alice.jwt, json: { intervalSeconds } })
  const answer = await patch(59)
  t.match(expectProblem(t, answer, 409, 'limit_reached'), { limit: 'minIntervalSeconds', maximum: 60 })
  t.equal((await patch(60)).status, 200)
  const { body } = await api.call('POST', '/v1/monitors', {
    as: alice.jwt,
    json: { name: 'Job', kind: 'push', schedule: '@hourly' }
  })
  const path = `/v1/monitors/${(body as { id: string }).id}`
  const often = await api.call('PATCH', path, { as: alice.jwt, json: { schedule: '*/30 * * * * *' } })
  expectProblem(t, often, 409, 'limit_reached')
  await stores.db.query("update organizations set plan = 'self-hosted' where id = $1", [alice.organizationId])
  t.equal((await patch(10)).status, 200)
})

const DAY = 86_400_000
const ago = (days: number) => new Date(Date.now() - days * DAY)

interface Page {
  data: Array<{ at?: string; from: string; to: string | null }>
  nextCursor: string | null
  retentionFrom: string | null
  clamped: boolean
}

t.test(
  'state changes and incidents are shown as far back as the plan keeps days, and the answer says so',
  async (t) => {
    const { body } = await api.call('GET', '/v1/monitors?limit=1', { as: charlie.jwt })
    const [{ id } = { id: '' }] = (body as { data: Array<{ id: string }> }).data
    const steps = [
      ['up', 'down', 460],
      ['down', 'up', 450],
      ['up', 'down', 410],
      ['down', 'up', 390],
      ['up', 'down', 10],
      ['down', 'up', 9]
    ]
    for (const [from, to, days] of steps) {
      await stores.db.query(
        `insert into transitions (monitor_key, organization_id, from_state, to_state, at, reason)
       select key, organization_id, $2, $3, $4, 'missed' from monitors where id = $1`,
        [id, from, to, ago(Number(days))]
      )
    }
    const read = async (path: string) =>
      (await api.call('GET', `/v1/monitors/${id}/${path}`, { as: charlie.jwt })).body as Page
    const changes = await read('transitions')
    t.same(
      changes.data.map(({ to }) => to),
      ['up', 'down', 'up']
    )
    t.match(changes, { clamped: true, nextCursor: null })
    const kept = Date.parse(changes.retentionFrom ?? '')
    t.ok(Math.abs(kept - ago(PLANS.free.retention['1d']).getTime()) < 60_000)
    const first = await read('transitions?limit=2')
    t.match(first, { data: { length: 2 }, clamped: false })
    t.match(await read(`transitions?limit=2&cursor=${first.nextCursor}`), { data: { length: 1 }, clamped: true })
    const incidents = await read('incidents')
    t.equal(incidents.data.length, 2, 'one that ended within what is shown is shown whole')
    t.match(incidents, { clamped: true, nextCursor: null, retentionFrom: /Z$/ })
    await stores.db.query("update organizations set plan = 'self-hosted' where id = $1", [charlie.organizationId])
    t.match(await read('transitions'), { data: { length: 6 }, clamped: false, retentionFrom: null })
    t.match(await read('incidents'), { data: { length: 3 }, clamped: false, retentionFrom: null })
  }
)
