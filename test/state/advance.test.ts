import fc from 'fast-check'
import { test } from 'tap'
import { liveWindow } from '../../shared/live-window.ts'
import { advance, type Beat, isLive, type MonitorState } from '../../worker/monitor-state.ts'
import { beat, fold, monitor, NOW, RULES, randomBeats, STATUSES, told, WINDOW } from '../support/monitor-status.ts'

for (const from of ['pending', 'unknown', ...STATUSES] as const) {
  for (const status of STATUSES) {
    test(`${from}, told ${status}, ${from === status ? 'stays' : 'becomes'} ${status}`, (t) => {
      const before = from === 'pending' ? monitor() : told(from)
      const since = before.stateSince
      const transition = advance(before, beat({ status }), RULES)
      const expected = from === status ? null : { from, to: status, at: NOW, reason: 'reported' }
      t.same(transition, expected)
      t.match(before, {
        state: status,
        stateReason: 'reported',
        stateSince: from === status ? since : NOW,
        lastHeartbeatAt: NOW,
        liveSources: { a: NOW }
      })
      t.end()
    })
  }
}

test('a paused monitor stays paused, and its heartbeats are still seen', (t) => {
  for (const status of STATUSES) {
    const paused = told('paused')
    const since = paused.stateSince
    t.equal(advance(paused, beat({ status }), RULES), null)
    t.match(paused, { state: 'paused', stateSince: since, lastHeartbeatAt: NOW, liveSources: { a: NOW } })
  }
  t.end()
})

test('a pause ends with the first heartbeat after its begin that does not say down, where the monitor wants that', (t) => {
  const rules = { ...RULES, resumeOnPing: true }
  const since = NOW - 10_000
  for (const status of STATUSES) {
    const paused = { ...told('paused'), stateSince: since }
    const expected = status === 'down' ? null : { from: 'paused', to: status, at: NOW, reason: 'reported' }
    t.same(advance(paused, beat({ status }), rules), expected, status)
  }
  for (const early of [{ timestamp: since, receivedAt: NOW }, { receivedAt: since }]) {
    t.equal(advance({ ...told('paused'), stateSince: since }, beat(early), rules), null, 'it was under way already')
  }
  t.end()
})

test('a pause is not ended by an agent that is outvoted, and no outage begins by it', (t) => {
  const rules = { ...RULES, resumeOnPing: true }
  const paused = { ...told('paused'), stateSince: NOW - 10_000 }
  t.equal(advance(paused, beat({ status: 'down', bySocket: true }), rules), null)
  const later = { timestamp: NOW + 1, receivedAt: NOW + 1, bySocket: true }
  t.equal(advance(paused, beat({ ...later, sourceId: 'b' }), rules), null)
  t.equal(paused.state, 'paused')
  t.end()
})

const BACKFILL: Array<[what: string, beat: Beat]> = [
  ['one that arrived a millisecond too late', beat({ status: 'down', receivedAt: NOW + WINDOW + 1 })],
  ['one of two hours ago', beat({ status: 'down', timestamp: NOW - 7_200_000, receivedAt: NOW })],
  ['one as old as the newest of its source', beat({ status: 'down', timestamp: NOW - 60_000, receivedAt: NOW })],
  ['one older than the newest of its source', beat({ status: 'down', timestamp: NOW - 60_001, receivedAt: NOW })]
]

for (const [what, late] of BACKFILL) {
  test(`back-fill changes nothing: ${what}`, (t) => {
    const status = told('up')
    const before = structuredClone(status)
    t.notOk(isLive(status, late, WINDOW))
    t.equal(advance(status, late, RULES), null)
    t.same(status, before)
    t.end()
  })
}

test('a heartbeat exactly as old as the window, or ahead of our clock, is live', (t) => {
  for (const receivedAt of [NOW + WINDOW, NOW, NOW - 60_000]) {
    t.match(advance(told('up'), beat({ status: 'down', receivedAt }), RULES), { from: 'up', to: 'down', at: NOW })
  }
  t.end()
})

test('of two sources the newer timestamp decides, and of equal ones the first to come', (t) => {
  const status = told('up', NOW)
  t.equal(advance(status, beat({ sourceId: 'b', status: 'down', timestamp: NOW - 1000 }), RULES), null)
  t.equal(advance(status, beat({ sourceId: 'c', status: 'degraded', timestamp: NOW }), RULES), null)
  t.match(status, { state: 'up', lastHeartbeatAt: NOW, liveSources: { a: NOW, b: NOW - 1000, c: NOW } })
  t.match(advance(status, beat({ sourceId: 'b', status: 'down', timestamp: NOW + 1 }), RULES), { to: 'down' })
  t.end()
})

test('how late a live heartbeat may be follows interval and grace, a minute at least', (t) => {
  t.equal(liveWindow(10, 5), 60_000)
  t.equal(liveWindow(40, 20), 60_000)
  t.equal(liveWindow(60, 30), 90_000)
  t.equal(liveWindow(86_400, 3600), 90_000_000)
  t.end()
})

const shuffled = randomBeats.chain((beats) =>
  fc.tuple(fc.constant(beats), fc.shuffledSubarray(beats, { minLength: beats.length }))
)

/** Punctual heartbeats, whose order alone could matter. */
const isPunctual = ({ receivedAt, timestamp }: Beat) => receivedAt - timestamp <= WINDOW

/** What the state must be, told without regard to order: the statuses of the newest punctual heartbeats. */
function newest(beats: readonly Beat[]): { at: number | null; states: MonitorState[] } {
  const punctual = beats.filter(isPunctual)
  if (punctual.length === 0) return { at: null, states: ['pending'] }
  const at = Math.max(...punctual.map(({ timestamp }) => timestamp))
  return { at, states: punctual.filter(({ timestamp }) => timestamp === at).map(({ status }) => status) }
}

test('whatever the order of arrival, the state is that of the newest punctual heartbeat', (t) => {
  fc.assert(
    fc.property(shuffled, ([, beats]) => {
      const status = monitor()
      fold(status, beats)
      const { at, states } = newest(beats)
      return status.lastHeartbeatAt === at && states.includes(status.state)
    }),
    { numRuns: 3000 }
  )
  t.end()
})

test('two orders of arrival end alike, but for two sources that disagree in the same millisecond', (t) => {
  fc.assert(
    fc.property(shuffled, ([beats, others]) => {
      fc.pre(new Set(newest(beats).states).size === 1)
      const [one, other] = [monitor(), monitor()]
      fold(one, beats)
      fold(other, others)
      return one.state === other.state && one.lastHeartbeatAt === other.lastHeartbeatAt
    }),
    { numRuns: 2000 }
  )
  t.end()
})

test('redelivery changes nothing, whenever it comes', (t) => {
  fc.assert(
    fc.property(shuffled, ([first, again]) => {
      const status = monitor()
      fold(status, first)
      const before = JSON.stringify(status)
      return fold(status, again).length === 0 && JSON.stringify(status) === before
    }),
    { numRuns: 3000 }
  )
  t.end()
})

test('back-fill changes nothing, wherever it comes in between', (t) => {
  fc.assert(
    fc.property(randomBeats, (beats) => {
      const [all, punctual] = [monitor(), monitor()]
      const transitions = [fold(all, beats), fold(punctual, beats.filter(isPunctual))]
      return (
        JSON.stringify(all) === JSON.stringify(punctual) &&
        JSON.stringify(transitions[0]) === JSON.stringify(transitions[1])
      )
    }),
    { numRuns: 2000 }
  )
  t.end()
})

test('a paused monitor stays paused through anything', (t) => {
  fc.assert(
    fc.property(randomBeats, (beats) => {
      const status = monitor({ state: 'paused' })
      return fold(status, beats).length === 0 && status.state === 'paused' && status.stateReason === 'created'
    })
  )
  t.end()
})

test('transitions form a chain from state to state, forward in time', (t) => {
  fc.assert(
    fc.property(randomBeats, (beats) => {
      const status = monitor()
      let [state, at]: [MonitorState, number] = ['pending', Number.NEGATIVE_INFINITY]
      for (const transition of fold(status, beats)) {
        if (transition.from !== state || transition.to === state || transition.at <= at) return false
        ;[state, at] = [transition.to, transition.at]
      }
      return state === status.state && (state === 'pending' || status.stateSince === at)
    }),
    { numRuns: 2000 }
  )
  t.end()
})

test('only the sources of the last few minutes are remembered', (t) => {
  const status = monitor()
  for (let i = 0; i < 5000; i++) {
    advance(status, beat({ sourceId: `source ${i}`, timestamp: NOW + i * 1000 }), RULES)
    const count = Object.keys(status.liveSources).length
    if (count > (2 * WINDOW) / 1000 + 1) t.fail(`${count} sources are remembered`)
  }
  t.ok(Object.keys(status.liveSources).length > 100, 'and none of them is forgotten early')
  t.end()
})

test('a source that comes back after a long silence is live again', (t) => {
  const status = told('up')
  advance(status, beat({ sourceId: 'b', timestamp: NOW + 7_200_000 }), RULES)
  t.same(Object.keys(status.liveSources), ['b'])
  const back = beat({ sourceId: 'a', status: 'down', timestamp: NOW + 7_200_001 })
  t.match(advance(status, back, RULES), { from: 'up', to: 'down' })
  t.end()
})
