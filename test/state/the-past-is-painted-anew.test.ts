import fc from 'fast-check'
import { test } from 'tap'
import { type Blank, type Run, repaint } from '../../worker/repaint.ts'
import { type SweepScene, sweepSceneFor } from '../support/sweep.ts'

/** Unknown from 100 to 1000, up before and after; a heartbeat counts for 90. */
const BLANK: Blank = {
  from: 100,
  to: 1000,
  before: 'up',
  after: 'up',
  reason: 'agent_offline',
  reasonAfter: 'reported',
  patienceMs: 90,
  blindSince: null,
  confirmations: 1
}

function run(status: Run['status'], first: number, last: number, more: Partial<Run> = {}): Run {
  return { status, first, last, count: 2, recovered: first, sources: ['one'], ...more }
}

const CASES: Array<[what: string, blank: Partial<Blank>, runs: Run[], changes: string[] | null]> = [
  ['nothing came', {}, [], null],
  ['only what was known before', {}, [run('up', 0, 10)], null],
  ['nothing from when nothing could get in', { blindSince: 100 }, [run('up', 0, 60)], null],
  ['a little longer', {}, [run('up', 0, 60)], ['up unknown 150', 'unknown up 1000']],
  ['it was up all the time', {}, [run('up', 60, 960)], []],
  ['known from a moment on', {}, [run('up', 500, 960)], ['up unknown 100', 'unknown up 500']],
  ['known up to a moment', {}, [run('up', 60, 400)], ['up unknown 490', 'unknown up 1000']],
  [
    'it was down meanwhile',
    {},
    [run('up', 60, 300), run('down', 360, 600), run('up', 660, 960)],
    ['up down 360', 'down up 660']
  ],
  ['it was down before and after', { before: 'down', after: 'down' }, [run('down', 60, 960)], []],
  ['it came back', { before: 'down' }, [run('up', 120, 960)], ['down unknown 100', 'unknown up 120']],
  [
    'one down is not enough',
    { confirmations: 3 },
    [run('up', 60, 300), run('down', 360, 360, { count: 1 }), run('up', 420, 960)],
    []
  ],
  [
    'one up is not enough',
    { before: 'down', after: 'down' },
    [run('down', 60, 300), run('up', 360, 360, { recovered: null }), run('down', 420, 960)],
    []
  ],
  ['agents that agree', {}, [run('up', 60, 960, { sources: ['one', 'two'] })], []],
  ['agents that do not', {}, [run('up', 60, 300), run('down', 360, 960, { sources: ['two'] })], null]
]
for (const [what, blank, runs, changes] of CASES) {
  test(`what was unknown is painted anew: ${what}`, (t) => {
    const painted = repaint({ ...BLANK, ...blank }, runs)
    t.same(painted?.map(({ from, to, at }) => `${from} ${to} ${at}`) ?? null, changes)
    t.end()
  })
}

test('whatever came, the changes hang together and lead from what was before to what is after', (t) => {
  const someRuns = fc.array(
    fc.record({
      status: fc.constantFrom('up', 'down', 'degraded' as const),
      gap: fc.integer({ min: 1, max: 300 }),
      length: fc.nat(300)
    }),
    { minLength: 1, maxLength: 8 }
  )
  const property = fc.property(someRuns, fc.constantFrom('up', 'down', 'degraded' as const), (list, after) => {
    let at = 50
    const runs = list.map(({ status, gap, length }) => {
      const first = at + gap
      at = first + length
      return run(status, first, at)
    })
    const changes = repaint({ ...BLANK, after, to: 5000 }, runs) ?? []
    let [state, since] = ['up', 100]
    for (const change of changes) {
      if (change.from !== state || change.to === state || change.at < since || change.at > 5000) return false
      state = change.to
      since = change.at
    }
    return changes.length === 0 || state === after
  })
  fc.assert(property, { numRuns: 2000 })
  t.end()
})

async function agentScene(t: Parameters<typeof sweepSceneFor>[0]) {
  const scene = await sweepSceneFor(t, { kind: 'http' })
  const { id: sourceId } = await scene.tenant.addAgent([scene.monitorId])
  await scene.hear(0, { sourceId, way: 'socket' })
  await scene.sweep(91)
  /** The agent is back at 600, and hands in what it measured at this second. */
  const handIn = (second: number, status: 'up' | 'down' = 'up') =>
    scene.hear(600, { sourceId, way: 'socket', late: 600 - second, status })
  return { ...scene, sourceId, handIn }
}

const steps = async (scene: SweepScene) =>
  (await scene.transitions()).slice(1).map(({ step, reason, at }) => `${step} ${reason} ${at}`)
const alerts = ({ stores }: SweepScene) =>
  stores.db.query("select from alert_outbox where event = 'down'").then(({ length }) => length)

const KEPT: Array<[second: number, status: 'up' | 'down']> = [
  [60, 'up'],
  [120, 'down'],
  [180, 'down'],
  [240, 'up'],
  [480, 'up'],
  [540, 'up']
]
const PAINTED = [
  'up down reported 120',
  'down up reported 240',
  'up unknown agent_offline 330',
  'unknown up reported 480'
]

for (const [order, kept] of [
  ['the oldest first', KEPT],
  ['the newest first', [...KEPT].reverse()]
] as const) {
  test(`what an agent measured while it could not reach us becomes the past, ${order}`, async (t) => {
    const scene = await agentScene(t)
    t.same(await steps(scene), ['up unknown agent_offline 90'])
    for (const [second, status] of kept) await scene.handIn(second, status)
    t.same(await steps(scene), PAINTED)
    for (const [second, status] of kept) await scene.handIn(second, status)
    t.same(await steps(scene), PAINTED, 'and again changes nothing')
    const [now] = await scene.stores.db.query('select state, state_since from monitor_states where monitor_key = $1', [
      scene.key
    ])
    t.match(now, { state: 'up', state_since: new Date(scene.at(540)) }, 'the present is not moved')
    t.equal(await alerts(scene), 0)
  })
}

test('what comes a moment too late tells of the past as well', async (t) => {
  const scene = await agentScene(t)
  const { sourceId } = scene
  await scene.hear(120, { sourceId, way: 'socket' })
  await scene.hear(120, { sourceId, way: 'socket', late: 20 })
  t.same(await steps(scene), ['up unknown agent_offline 90', 'unknown up reported 100'])
})

test('what another agent measured just before the first was back tells of the past as well', async (t) => {
  const scene = await agentScene(t)
  const { id: other } = await scene.tenant.addAgent([scene.monitorId])
  await scene.hear(120, { sourceId: scene.sourceId, way: 'socket' })
  await scene.hear(125, { sourceId: other, way: 'socket', late: 25 })
  t.same(await steps(scene), ['up unknown agent_offline 90', 'unknown up reported 100'])
})

test('a span in which nothing could get in is painted anew however late its heartbeats come', async (t) => {
  const scene = await sweepSceneFor(t)
  await scene.hear(0)
  await scene.sweep(10)
  await scene.sweep(30, { ingest: 'away' })
  await scene.hear(600)
  await scene.sweep(601, { ingest: { stamp: 601, since: 590 } })
  await scene.hear(660)
  await scene.sweep(720, { ingest: { stamp: 720, since: 590 } })
  t.same(await steps(scene), ['up unknown platform 10', 'unknown up platform 590'])
  await scene.hear(3600, { late: 3600 - 500 })
  t.same(await steps(scene), ['up unknown platform 90', 'unknown up reported 500'])
  for (const second of [60, 120, 180, 240, 300, 360, 420]) await scene.hear(3600, { late: 3600 - second })
  t.same(await steps(scene), [])
})
