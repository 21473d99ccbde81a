import { type Test, t } from 'tap'
import { v7 as uuidv7 } from 'uuid'
import { type NotedTransition, recordAlerts } from '../../shared/store/outbox.ts'
import { settleAlerts } from '../../shared/store/outbox-queue.ts'
import { fanOut } from '../../worker/alerts/fan-out.ts'
import { openStores } from '../support/ingest.ts'
import { keyOf } from '../support/jobs.ts'
import { createTenant } from '../support/tenant.ts'

const stores = await openStores(t)
const { db, secrets } = stores
const NOW = new Date('2027-05-03T10:00:00.000Z')
const minutes = (count: number) => new Date(NOW.getTime() + count * 60_000)

async function sceneOf() {
  const tenant = await createTenant(db, secrets)
  const { organizationId } = tenant
  const addMonitor = async (state = 'up') => {
    const id = await tenant.addMonitor({ kind: 'http' })
    const key = await keyOf(stores, id)
    await db.query('update monitor_states set state = $2 where monitor_key = $1', [key, state])
    return { id, key }
  }
  /** `from to`, and the reason where it is not `reported`, written by one transaction. */
  const record = (...steps: Array<[key: number, step: string, at?: Date]>) =>
    db.transaction(async (tx) => {
      const transitions: NotedTransition[] = []
      for (const [monitorKey, step, at = NOW] of steps) {
        const [from = '', to = '', reason = 'reported'] = step.split(' ')
        await tx.query('update monitor_states set state = $2 where monitor_key = $1', [monitorKey, to])
        transitions.push({ monitorKey, organizationId, from, to, at, reason })
      }
      await recordAlerts(tx, transitions, NOW)
    })
  /** What stands in the outbox: event, + for a begin and - for an end, status and cause. */
  const rows = async () => {
    const found = await db.query<{ row: string }>(
      `select concat_ws(' ', event || case when opens then '+' else '-' end, status, cause) as row
       from alert_outbox where organization_id = $1 order by id`,
      [organizationId]
    )
    return found.map(({ row }) => row)
  }
  return { ...tenant, addMonitor, record, rows }
}

type Scene = Awaited<ReturnType<typeof sceneOf>>

async function planMaintenance({ organizationId }: Scene, key: number, from: Date, to: Date): Promise<void> {
  const version = uuidv7()
  await db.query(
    `insert into maintenance_windows (version, id, organization_id, title, starts_at, ends_at, created_at, valid_from)
     values ($1, $1, $2, 'Update', $3, $4, $3, $3)`,
    [version, organizationId, from, to]
  )
  await db.query('insert into maintenance_monitors (organization_id, version, monitor_key) values ($1, $2, $3)', [
    organizationId,
    version,
    key
  ])
}

async function addParent({ organizationId }: Scene, key: number, parent: number): Promise<void> {
  await db.query('insert into monitor_parents (organization_id, monitor_key, parent_key) values ($1, $2, $3)', [
    organizationId,
    key,
    parent
  ])
}

/** Each case: the steps, one transaction each, and the outbox after them. */
const cases: Array<[what: string, steps: string[], rows: string[]]> = [
  ['a first heartbeat that is up tells nobody', ['pending up'], []],
  ['a first heartbeat that is down does', ['pending down'], ['down+ due']],
  ['an outage and its end are told once each', ['up down', 'down up'], ['down+ due', 'down- due']],
  ['degraded ends an outage', ['up down', 'down degraded'], ['down+ due', 'down- due']],
  [
    'an outage goes on behind what is not known',
    ['up down', 'down unknown platform', 'unknown down'],
    ['down+ due', 'unknown+ due']
  ],
  [
    'its end is told after it',
    ['up down', 'down unknown platform', 'unknown up'],
    ['down+ due', 'unknown+ due', 'down- due']
  ],
  ['what was not down has no recovery', ['up unknown platform', 'unknown up'], ['unknown+ due']],
  [
    'who pauses a monitor knows that it is over',
    ['up down', 'down paused', 'paused pending', 'pending up'],
    ['down+ due']
  ],
  [
    'it may fail anew after that',
    ['up down', 'down paused', 'paused pending', 'pending down'],
    ['down+ due', 'down+ due']
  ],
  ['degraded is told by its begin and its end', ['up degraded', 'degraded up'], ['degraded+ due', 'degraded- due']]
]
for (const [what, steps, expected] of cases) {
  t.test(`${what}`, async (t) => {
    const one = await sceneOf()
    const { key } = await one.addMonitor()
    for (const step of steps) await one.record([key, step])
    t.same(await one.rows(), expected)
    const all = await sceneOf()
    const again = await all.addMonitor()
    await all.record(...steps.map((step): [number, string] => [again.key, step]))
    t.same(await all.rows(), expected, 'and the same in one transaction')
  })
}

t.test(
  'an outage that begins within maintenance is held until its end, and forgotten when it is over before',
  async (t) => {
    const scene = await sceneOf()
    const { key } = await scene.addMonitor()
    await planMaintenance(scene, key, minutes(-10), minutes(30))
    await scene.record([key, 'up down'])
    t.same(await scene.rows(), ['down+ held maintenance'])
    const [row] = await db.query<{ due_at: Date }>('select due_at from alert_outbox where monitor_key = $1', [key])
    t.same(row?.due_at, minutes(30))
    await scene.record([key, 'down up'])
    t.same(await scene.rows(), ['down+ dropped recovered'])
  }
)

t.test('the end of an outage that was told is told within maintenance too', async (t) => {
  const scene = await sceneOf()
  const { key } = await scene.addMonitor()
  await scene.record([key, 'up down', minutes(-20)])
  await planMaintenance(scene, key, minutes(-10), minutes(30))
  await scene.record([key, 'down up'])
  t.same(await scene.rows(), ['down+ due', 'down- due'])
})

t.test('whoever depends on what is down is muted, also through others and in the same transaction', async (t) => {
  const scene = await sceneOf()
  const [router, server, site] = [await scene.addMonitor(), await scene.addMonitor(), await scene.addMonitor()]
  await addParent(scene, server.key, router.key)
  await addParent(scene, site.key, server.key)
  await scene.record([router.key, 'up down'], [site.key, 'up down'])
  t.same(await scene.rows(), ['down+ due', 'down+ muted parent_down'])
  await scene.record([site.key, 'down up'])
  t.same(await scene.rows(), ['down+ due', 'down+ dropped recovered'])
})

async function lose(t: Test) {
  const scene = await sceneOf()
  const monitors = [await scene.addMonitor(), await scene.addMonitor(), await scene.addMonitor()]
  const agent = await scene.addAgent(monitors.map(({ id }) => id))
  const [first, second, third] = monitors.map(({ key }) => key) as [number, number, number]
  await scene.record([first, 'up unknown agent_offline'], [second, 'up unknown agent_offline'])
  await scene.record([third, 'up unknown agent_offline'])
  t.same(await scene.rows(), ['agent+ held settling'], 'one row for all of them')
  return { scene, agent, keys: [first, second, third] as const }
}

t.test('a lost agent is told of once, not once for each of its monitors', async (t) => {
  const { scene, agent, keys } = await lose(t)
  await db.query("update alert_outbox set status = 'told' where agent_id = $1", [agent.id])
  for (const key of keys) await scene.record([key, 'unknown up'])
  t.same(await scene.rows(), ['agent+ told settling', 'agent- due'])
  await scene.record([keys[0], 'up unknown agent_offline'])
  t.same(await scene.rows(), ['agent+ told settling', 'agent- due', 'agent+ held settling'])
})

t.test('an agent that is back before anybody was told is not told of', async (t) => {
  const { scene, keys } = await lose(t)
  await scene.record([keys[1], 'unknown up'])
  t.same(await scene.rows(), ['agent+ dropped recovered'])
})

t.test('two transactions at once leave one row for one agent', async (t) => {
  const scene = await sceneOf()
  const monitors = [await scene.addMonitor(), await scene.addMonitor()]
  await scene.addAgent(monitors.map(({ id }) => id))
  await Promise.all(monitors.map(({ key }) => scene.record([key, 'up unknown agent_offline'])))
  t.same(await scene.rows(), ['agent+ held settling'])
})

async function childOf(t: Test, { intervalSeconds = 60 } = {}) {
  const scene = await sceneOf()
  const [router, server, site] = [await scene.addMonitor(), await scene.addMonitor(), await scene.addMonitor()]
  await addParent(scene, server.key, router.key)
  await addParent(scene, site.key, server.key)
  await db.query('update monitors set interval_seconds = $2, grace_seconds = 30 where key = $1', [
    router.key,
    intervalSeconds
  ])
  const hear = (at: Date, streak = 0) =>
    db.query('update monitor_states set last_received_at = $2, streak = $3 where monitor_key = $1', [
      router.key,
      at,
      streak
    ])
  await hear(minutes(-1))
  await scene.record([site.key, 'up down'])
  /** The outbox after a round of the alerts. */
  const round = async (at: Date) => {
    await settleAlerts(db, at)
    await fanOut(db, at)
    return scene.rows()
  }
  t.teardown(() => db.query('delete from alert_outbox where organization_id = $1', [scene.organizationId]))
  return { ...scene, router, site, hear, round }
}

t.test('what is noticed before the one that it depends on waits until that one is known to be down', async (t) => {
  const { record, rows, round, router, hear } = await childOf(t)
  t.same(await rows(), ['down+ held settling'])
  t.same(await round(minutes(0.5)), ['down+ held settling'])
  await hear(minutes(0.7), 1)
  t.same(await round(minutes(0.8)), ['down+ held settling'], 'it may need another heartbeat to be down')
  await record([router.key, 'up down'])
  t.same(await round(minutes(1)), ['down+ muted parent_down', 'down+ told'])
})

t.test('or until it is known to be there', async (t) => {
  const { round, hear } = await childOf(t)
  await hear(minutes(0.5))
  t.same(await round(minutes(0.6)), ['down+ told settling'])
})

t.test('or until it should have been heard of', async (t) => {
  const { round } = await childOf(t)
  t.same(await round(minutes(1.5)), ['down+ held settling'])
  t.same(await round(minutes(1.6)), ['down+ told settling'])
})

t.test('one that reports rarely is not waited for, and what is over meanwhile is not told', async (t) => {
  const rare = await childOf(t, { intervalSeconds: 3600 })
  t.same(await rare.rows(), ['down+ due'])
  const short = await childOf(t)
  await short.record([short.site.key, 'down up'])
  t.same(await short.rows(), ['down+ dropped recovered'])
})
