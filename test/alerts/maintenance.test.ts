import { t } from 'tap'
import type { MonitorAnswer } from '../../shared/contract/monitors.ts'
import { maintenanceSpans } from '../../shared/store/maintenance.ts'
import { apiFor } from '../support/api.ts'
import { createAgent, createCast, createMonitor } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { keyOf } from '../support/jobs.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'

/** The day before summer time begins. */
let now = Date.UTC(2027, 2, 27, 12)
const stores = await openStores(t)
const api = await apiFor(t, stores, { clock: () => now })
const { alice, bob, charlie, monitor, pushMonitor } = await createCast(api)
const HOUR = 3_600_000
const iso = (ms: number) => new Date(ms).toISOString()
const create = (fields: object, as = bob.jwt) =>
  api.call('POST', '/v1/maintenance', { as, json: { title: 'Update', monitorIds: [monitor.id], ...fields } })
const once = (from: number, to: number) => ({ from: iso(from), to: iso(to) })
const idOf = ({ body }: { body: unknown }) => (body as { id: string }).id
const spans = async (monitorId: string, from: number, to: number) =>
  (await maintenanceSpans(stores.db, await keyOf(stores, monitorId), from, to)).map((span) => [span.from, span.to])

t.test('maintenance that happens once is planned, read, changed and taken back', async (t) => {
  const made = await create(once(now + HOUR, now + 2 * HOUR))
  t.match(made, {
    status: 201,
    body: { title: 'Update', monitorIds: [monitor.id], tags: [], active: false, next: iso(now + HOUR) }
  })
  const path = `/v1/maintenance/${idOf(made)}`
  const changed = await api.call('PATCH', path, { as: bob.jwt, json: { title: 'Move', to: iso(now + 3 * HOUR) } })
  t.match(changed, {
    status: 200,
    body: { id: idOf(made), title: 'Move', from: iso(now + HOUR), to: iso(now + 3 * HOUR) }
  })
  t.same((await api.call('GET', path, { as: bob.jwt })).body, changed.body)
  t.match((await api.call('GET', '/v1/maintenance', { as: bob.jwt })).body, { data: [changed.body], nextCursor: null })
  expectProblem(t, await api.call('GET', path, { as: charlie.jwt }), 404, 'not_found')
  t.equal((await api.call('DELETE', path, { as: bob.jwt })).status, 204)
  expectProblem(t, await api.call('GET', path, { as: bob.jwt }), 404, 'not_found')
  t.same(await spans(monitor.id, now, now + 9 * HOUR), [])
})

t.test('recurring maintenance follows its time zone over a change to summer time', async (t) => {
  const made = await create({ schedule: '0 3 * * *', timezone: 'Europe/Berlin', durationMinutes: 60 })
  t.match(made, { status: 201, body: { schedule: '0 3 * * *', active: false, next: '2027-03-28T01:00:00.000Z' } })
  const found = await spans(monitor.id, now - 48 * HOUR, Date.UTC(2027, 2, 30))
  t.same(found, [
    [Date.UTC(2027, 2, 28, 1), Date.UTC(2027, 2, 28, 2)],
    [Date.UTC(2027, 2, 29, 1), Date.UTC(2027, 2, 29, 2)]
  ])
  t.same(await spans(pushMonitor.id, now, Date.UTC(2027, 2, 30)), [], 'another monitor has none')
  await api.call('DELETE', `/v1/maintenance/${idOf(made)}`, { as: bob.jwt })
})

t.test('what was maintenance stays so when the window is ended, and nothing becomes it after the fact', async (t) => {
  const begin = now
  const made = await create(once(begin - HOUR, begin + 4 * HOUR))
  t.match(made.body, { active: true })
  now += HOUR
  await api.call('DELETE', `/v1/maintenance/${idOf(made)}`, { as: bob.jwt })
  t.same(await spans(monitor.id, begin - 2 * HOUR, begin + 9 * HOUR), [[begin, begin + HOUR]])
})

const end = (id: string, as = bob.jwt) => api.call('POST', `/v1/maintenance/${id}/end`, { as })

t.test('maintenance that is now is ended and stays in the list as past', async (t) => {
  const begin = now
  const made = await create(once(begin, begin + 4 * HOUR))
  t.match(made.body, { active: true, until: iso(begin + 4 * HOUR) })
  now += HOUR
  const ended = await end(idOf(made))
  t.match(ended, { status: 200, body: { active: false, until: null, next: null, to: iso(begin + HOUR) } })
  t.same(await spans(monitor.id, begin, begin + 9 * HOUR), [[begin, begin + HOUR]])
  t.same((await end(idOf(made))).body, ended.body, 'what is over stays as it is')
  const { body } = await api.call('GET', `/v1/audit?targetId=${idOf(made)}`, { as: alice.jwt })
  t.match(body, { data: [{ action: 'maintenance.ended' }, { action: 'maintenance.created' }] })
  expectProblem(t, await end(idOf(made), charlie.jwt), 404, 'not_found')
})

t.test('recurring maintenance that is ended goes on at its next begin, whatever its title', async (t) => {
  const slot = Date.UTC(2027, 2, 27, 16)
  const made = await create({ schedule: '0 16 * * *', durationMinutes: 120 })
  now = slot + HOUR / 2
  const next = slot + 24 * HOUR
  t.match((await end(idOf(made))).body, { active: false, next: iso(next), schedule: '0 16 * * *' })
  now += 60_000
  const path = `/v1/maintenance/${idOf(made)}`
  const change = (json: object) => api.call('PATCH', path, { as: bob.jwt, json })
  t.match(await change({ title: 'Move' }), { body: { active: false } })
  const same = { schedule: '0 16 * * *', durationMinutes: 120, timezone: 'UTC' }
  t.match(await change({ title: 'Moving', ...same }), { body: { active: false } }, 'the times are what they were')
  t.same(await spans(monitor.id, slot, slot + 30 * HOUR), [
    [slot, slot + HOUR / 2],
    [next, next + 2 * HOUR]
  ])
  await api.call('DELETE', path, { as: bob.jwt })
})

t.test('tags name every monitor that has one of them', async (t) => {
  const json = { tags: ['db'] }
  await api.call('PATCH', `/v1/monitors/${pushMonitor.id}`, { as: alice.jwt, json })
  const made = await create({ ...once(now, now + HOUR), monitorIds: undefined, tags: ['db', 'web'] })
  t.match(made, { status: 201, body: { monitorIds: [], tags: ['db', 'web'] } })
  t.same(await spans(pushMonitor.id, now, now + 2 * HOUR), [[now, now + HOUR]])
})

const faults: Array<[what: string, fields: object, faults: string[]]> = [
  ['no time', {}, ['/from missing_field']],
  ['no end', { from: iso(now) }, ['/to missing_field']],
  ['an end before the begin', once(now + HOUR, now), ['/to invalid_value']],
  ['the past', once(Date.UTC(2020, 0), Date.UTC(2020, 1)), ['/to invalid_value']],
  ['ten years', once(Date.UTC(2050, 0), Date.UTC(2060, 0)), ['/to invalid_value']],
  ['both kinds', { ...once(now, now + HOUR), schedule: '0 3 * * *' }, ['/schedule invalid_value']],
  ['no cron', { schedule: 'at night', durationMinutes: 5 }, ['/schedule invalid_schedule']],
  ['a day that never comes', { schedule: '0 0 30 2 *', durationMinutes: 5 }, ['/schedule invalid_schedule']],
  ['every minute', { schedule: '* * * * *', durationMinutes: 1 }, ['/schedule invalid_schedule']],
  ['no length', { schedule: '0 3 * * *' }, ['/durationMinutes missing_field']],
  ['one that meets the next', { schedule: '0 */2 * * *', durationMinutes: 121 }, ['/durationMinutes invalid_value']],
  [
    'no such zone',
    { schedule: '0 3 * * *', durationMinutes: 5, timezone: 'Mars/Base' },
    ['/timezone unknown_timezone']
  ],
  ['no monitor', { ...once(2e12, 2e12 + HOUR), monitorIds: [] }, ['/monitorIds missing_field']],
  ['monitors and tags', { ...once(2e12, 2e12 + HOUR), tags: ['a'] }, ['/tags invalid_value']]
]
for (const [what, fields, expected] of faults) {
  t.test(`maintenance with ${what} is refused by name`, async (t) => {
    t.same(faultsOf(expectProblem(t, await create(fields), 422, 'validation_failed')), expected)
  })
}

t.test("a stranger's monitor is as unknown as one that never was", async (t) => {
  const body = expectProblem(t, await create(once(now, now + HOUR), charlie.jwt), 422, 'validation_failed')
  t.same(faultsOf(body), ['/monitorIds/0 monitor_not_allowed'])
})

t.test('a monitor tells of the maintenance that holds, and until when', async (t) => {
  now = Math.ceil(now / HOUR) * HOUR
  const monitor = await createMonitor(api, bob.jwt, { name: 'Own', kind: 'push' })
  const scopes = ['monitors:read']
  const service = { name: 'Reads', kind: 'service', monitorIds: [monitor.id], scopes }
  const { apiKey } = await createAgent(api, alice.jwt, service)
  const path = `/v1/monitors/${monitor.id}`
  const told = async (as = bob.jwt) => ((await api.call('GET', path, { as })).body as MonitorAnswer).maintenance
  const made = [await create({ ...once(now, now + HOUR), title: 'Short', monitorIds: [monitor.id] })]
  made.push(await create({ ...once(now + HOUR / 2, now + 3 * HOUR), title: 'Long', monitorIds: [monitor.id] }))
  await api.call('PATCH', path, { as: bob.jwt, json: { tags: ['hourly'] } })
  const tagged = { schedule: '0 * * * *', durationMinutes: 10, monitorIds: [], tags: ['hourly'], title: 'Hourly' }
  await create(tagged)
  t.same(await told(), { title: 'Short', until: iso(now + HOUR) })
  const why = (await api.call('GET', `${path}/explain`, { as: bob.jwt })).body as { sentence: string }
  t.match(why.sentence, `It is under maintenance until ${iso(now + 3 * HOUR + 600_000)}`, 'with what follows at once')
  t.same(await told(apiKey), { until: iso(now + HOUR) }, 'a key cannot read what people call it')
  now += HOUR / 2
  t.same(await told(), { title: 'Long', until: iso(now + 2.5 * HOUR) })
  for (const one of made) await api.call('DELETE', `/v1/maintenance/${idOf(one)}`, { as: bob.jwt })
  t.equal(await told(), null)
  now += HOUR / 2 + 60_000
  const { data } = (await api.call('GET', '/v1/monitors', { as: bob.jwt })).body as { data: MonitorAnswer[] }
  const listed = new Map(data.map(({ id, maintenance }) => [id, maintenance]))
  t.same(listed.get(monitor.id), { title: 'Hourly', until: iso(now + 9 * 60_000) })
  t.equal(listed.get(pushMonitor.id), null)
})
