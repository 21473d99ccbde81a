import { test } from 'tap'
import type { MonitorAnswer } from '../../shared/contract/monitors.ts'
import { apiFor } from '../support/api.ts'
import { createCast } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { stateOf } from '../support/jobs.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'
import { sweepSceneFor } from '../support/sweep.ts'
import { signedInFor } from '../support/sweep-by-api.ts'

test('a paused monitor is not missed, and a resumed one has a whole interval and grace from then', async (t) => {
  const scene = await sweepSceneFor(t)
  const { call, moveTo } = await signedInFor(t, scene)
  const path = `/v1/monitors/${scene.monitorId}`
  await scene.hear(0)
  moveTo(30)
  t.match(await call('POST', `${path}/pause`), { status: 200, body: { state: 'paused', expectedAt: null } })
  t.match(await call('POST', `${path}/pause`), { status: 200, body: { state: 'paused' } })
  await scene.hear(40, { status: 'down' })
  t.match(await scene.sweep(1000), { transitions: 0 })
  moveTo(1000)
  t.match(await call('POST', `${path}/resume`), { status: 200, body: { state: 'pending', stateReason: 'resumed' } })
  t.match(await scene.sweep(1089), { transitions: 0 })
  t.match(await scene.sweep(1091), { transitions: 1 })
  t.same(await scene.transitions(), [
    { step: 'pending up', reason: 'reported', at: 0 },
    { step: 'up paused', reason: 'paused', at: 30 },
    { step: 'paused pending', reason: 'resumed', at: 1000 },
    { step: 'pending down', reason: 'missed', at: 1090 }
  ])
  const trail = await scene.stores.db.query<{ action: string }>('select action from audit_log order by id')
  t.same(
    trail.map(({ action }) => action).filter((action) => action.startsWith('monitor.')),
    ['monitor.paused', 'monitor.resumed'],
    'what changed nothing leaves no trace'
  )
})

test('a monitor that was never heard of is not armed by a resume', async (t) => {
  const scene = await sweepSceneFor(t)
  const { call } = await signedInFor(t, scene)
  await call('POST', `/v1/monitors/${scene.monitorId}/pause`)
  await call('POST', `/v1/monitors/${scene.monitorId}/resume`)
  t.match(await scene.sweep(100_000), { transitions: 0 })
})

test('a heartbeat resumes a monitor that asks for it, as a person would', async (t) => {
  const scene = await sweepSceneFor(t)
  const { call, moveTo } = await signedInFor(t, scene)
  const { id: sourceId } = await scene.tenant.addAgent([scene.monitorId], { kind: 'service' })
  const path = `/v1/monitors/${scene.monitorId}`
  t.match(await call('GET', path), { body: { resumeOnPing: false } })
  t.match(await call('PATCH', path, { resumeOnPing: true }), { status: 200, body: { resumeOnPing: true } })
  await scene.hear(0)
  moveTo(30)
  await call('POST', `${path}/pause`)
  await scene.hear(31, { sourceId, late: 2 })
  await scene.hear(40, { sourceId, status: 'down' })
  t.match(await stateOf(scene.stores, scene.key), { state: 'paused' })
  await scene.hear(1000, { sourceId })
  t.match(await scene.sweep(1089), { transitions: 0 })
  t.match(await scene.sweep(1091), { transitions: 1 })
  t.same((await scene.transitions()).slice(1), [
    { step: 'up paused', reason: 'paused', at: 30 },
    { step: 'paused up', reason: 'reported', at: 1000 },
    { step: 'up down', reason: 'missed', at: 1090 }
  ])
  const { body } = await call('GET', '/v1/audit?action=monitor.resumed')
  t.match(body, {
    data: [
      {
        actor: { kind: 'key', id: sourceId, name: `agent ${sourceId}` },
        target: { kind: 'monitor', id: scene.monitorId, name: `monitor ${scene.monitorId}` },
        details: { by: 'heartbeat' }
      }
    ]
  })
})

test('a shorter interval is counted from the change', async (t) => {
  const scene = await sweepSceneFor(t, { intervalSeconds: 3600 })
  const { call, moveTo } = await signedInFor(t, scene)
  await scene.hear(0)
  moveTo(3000)
  const changed = await call('PATCH', `/v1/monitors/${scene.monitorId}`, { intervalSeconds: 60 })
  t.match(changed, { status: 200, body: { intervalSeconds: 60 } })
  t.match(await scene.sweep(3089), { transitions: 0 })
  t.match(await scene.sweep(3090), { transitions: 1 })
})

test('many monitors are paused, resumed and deleted at once; those of others stay unknown', async (t) => {
  const stores = await openStores(t)
  const api = await apiFor(t, stores)
  const { alice, charlie, monitor, pushMonitor } = await createCast(api)
  const bulk = (as: string, action: string, ids: string[]) =>
    api.call('POST', '/v1/monitors/bulk', { as, json: { action, ids } })
  const ids = [monitor.id, pushMonitor.id]
  t.match(await bulk(charlie.jwt, 'delete', ids), {
    status: 200,
    body: { data: [{ result: 'not_found' }, { result: 'not_found' }] }
  })
  const results = async (action: string) =>
    ((await bulk(alice.jwt, action, ids)).body as { data: Array<{ result: string }> }).data.map(({ result }) => result)
  t.same(await results('pause'), ['done', 'done'])
  t.same(await results('pause'), ['unchanged', 'unchanged'])
  t.same(await results('resume'), ['done', 'done'])
  t.same(await results('delete'), ['done', 'done'])
  t.same(await results('delete'), ['not_found', 'not_found'])
  for (const json of [
    { action: 'pause', ids: [] },
    { action: 'stop', ids },
    { action: 'pause', ids: ['x'] }
  ]) {
    expectProblem(t, await api.call('POST', '/v1/monitors/bulk', { as: alice.jwt, json }), 422, 'validation_failed')
  }
})

test('schedules are checked field by field', async (t) => {
  const stores = await openStores(t)
  const api = await apiFor(t, stores)
  const { alice, pushMonitor } = await createCast(api)
  const create = (fields: object) =>
    api.call('POST', '/v1/monitors', { as: alice.jwt, json: { name: 'Job', kind: 'push', ...fields } })
  const good = await create({
    schedule: '0 9,17 * * *',
    timezone: 'Europe/Berlin',
    maxRuntimeSeconds: 60,
    confirmations: 3
  })
  const timed = { schedule: '0 9,17 * * *', timezone: 'Europe/Berlin', intervalSeconds: 28_800, graceSeconds: 5760 }
  t.match(good, {
    status: 201,
    body: { ...timed, maxRuntimeSeconds: 60, confirmations: 3, recoveries: 1, expectedAt: null }
  })
  for (const [schedule, intervalSeconds] of [
    ['@daily', 86_400],
    ['@hourly', 3600],
    ['@weekly', 604_800],
    ['*/30 * * * * *', 30]
  ] as const) {
    t.match((await create({ schedule })).body, { schedule, timezone: 'UTC', intervalSeconds })
  }
  const refused: Array<[fields: object, fault: string]> = [
    [{ schedule: '0 0 31 2 *' }, '/schedule invalid_schedule'],
    [{ schedule: 'now and then' }, '/schedule invalid_schedule'],
    [{ schedule: 'Mon..Fri *-*-* 09:00:00' }, '/schedule invalid_schedule'],
    [{ schedule: '@reboot' }, '/schedule invalid_schedule'],
    [{ schedule: '0 0 0 1 1 * 2027' }, '/schedule invalid_schedule'],
    [{ schedule: '@daily', timezone: 'Mars/Base' }, '/timezone unknown_timezone'],
    [{ timezone: 'UTC' }, '/timezone invalid_value'],
    [{ schedule: '@daily', intervalSeconds: 60 }, '/intervalSeconds invalid_value'],
    [{ schedule: '@daily', kind: 'http', target: 'https://example.com/' }, '/schedule invalid_value'],
    [{ kind: 'heartbeat', maxRuntimeSeconds: 60 }, '/maxRuntimeSeconds invalid_value'],
    [{ kind: 'http', target: 'https://example.com/', resumeOnPing: true }, '/resumeOnPing invalid_value'],
    [{ agentIsTarget: true }, '/agentIsTarget invalid_value'],
    [{ confirmations: 0 }, '/confirmations invalid_value'],
    [{ recoveries: 21 }, '/recoveries invalid_value'],
    ...['most', 'count:', 'count:0', 'count:51', 'count:2.5'].map((quorum): [object, string] => [
      { quorum },
      '/quorum invalid_value'
    ])
  ]
  for (const [fields, fault] of refused) {
    t.same(faultsOf(expectProblem(t, await create(fields), 422, 'validation_failed')), [fault], JSON.stringify(fields))
  }
  const path = `/v1/monitors/${pushMonitor.id}`
  const patch = async (json: object) => (await api.call('PATCH', path, { as: alice.jwt, json })).body as MonitorAnswer
  t.match(await patch({ schedule: '*/5 * * * *', timezone: 'Asia/Tokyo' }), {
    intervalSeconds: 300,
    timezone: 'Asia/Tokyo'
  })
  t.match(await patch({ name: 'Other' }), { schedule: '*/5 * * * *', name: 'Other' })
  t.match(await patch({ schedule: null, intervalSeconds: 120 }), {
    schedule: null,
    timezone: null,
    intervalSeconds: 120
  })
  t.match(await patch({ maxRuntimeSeconds: 60 }), { maxRuntimeSeconds: 60 })
  t.match(await patch({ maxRuntimeSeconds: null }), { maxRuntimeSeconds: null })
})
