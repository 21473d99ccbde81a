import fc from 'fast-check'
import { test } from 'tap'
import { advance, type MonitorState, type Rules } from '../../worker/monitor-state.ts'
import { beat, fold, monitor, NOW, RULES, randomBeats, told, WINDOW } from '../support/monitor-status.ts'

/** The states that a monitor goes through when it is told these, a minute apart, from `up`. */
function stepsOf(told: string, rules: Partial<Rules>): Array<[state: string, atMinute: number]> {
  const status = monitor({ state: 'up', stateSince: NOW - 60_000 })
  const said = { u: 'up', d: 'down', g: 'degraded' } as const
  return [...told].flatMap((letter, minute) => {
    const one = beat({ status: said[letter as keyof typeof said], timestamp: NOW + minute * 60_000 })
    const transition = advance(status, one, { ...RULES, ...rules })
    return transition === null ? [] : [[transition.to, (transition.at - NOW) / 60_000] as [string, number]]
  })
}

const CONFIRMED: Array<[told: string, rules: Partial<Rules>, steps: Array<[state: string, atMinute: number]>]> = [
  ['d', { confirmations: 1 }, [['down', 0]]],
  ['dd', { confirmations: 3 }, []],
  ['ddd', { confirmations: 3 }, [['down', 0]]],
  ['ddudd', { confirmations: 3 }, []],
  ['udduddd', { confirmations: 3 }, [['down', 4]]],
  [
    'gdd',
    { confirmations: 2 },
    [
      ['degraded', 0],
      ['down', 1]
    ]
  ],
  ['dgd', { confirmations: 2 }, [['degraded', 1]]],
  ['du', { recoveries: 2 }, [['down', 0]]],
  [
    'duu',
    { recoveries: 2 },
    [
      ['down', 0],
      ['up', 2]
    ]
  ],
  ['dudu', { recoveries: 2 }, [['down', 0]]],
  [
    'dug',
    { recoveries: 2 },
    [
      ['down', 0],
      ['degraded', 2]
    ]
  ],
  [
    'dddduuudd',
    { confirmations: 2, recoveries: 3 },
    [
      ['down', 0],
      ['up', 6],
      ['down', 7]
    ]
  ]
]

for (const [told, rules, steps] of CONFIRMED) {
  test(`told ${told} with ${JSON.stringify(rules)}, an outage starts with the first of those that confirm it`, (t) => {
    t.same(stepsOf(told, rules), steps)
    t.end()
  })
}

test('what was observed is kept beside the state that it does not change yet', (t) => {
  const status = told('up')
  t.equal(advance(status, beat({ status: 'down' }), { ...RULES, confirmations: 2 }), null)
  t.match(status, { state: 'up', observed: 'down', streak: 1, streakSince: NOW })
  t.end()
})

test('a monitor without a state takes the first heartbeat as it is, whatever has to be confirmed later', (t) => {
  for (const from of ['pending', 'unknown'] as const) {
    const status = monitor({ state: from })
    t.match(advance(status, beat({ status: 'down' }), { ...RULES, confirmations: 5 }), { from, to: 'down', at: NOW })
  }
  t.end()
})

test('the receive time of every live heartbeat counts, that of back-fill never', (t) => {
  const status = told('up', NOW)
  advance(status, beat({ sourceId: 'b', timestamp: NOW - 5000, receivedAt: NOW + 7000 }), RULES)
  t.match(status, { lastHeartbeatAt: NOW, lastReceivedAt: NOW + 7000, state: 'up' })
  advance(status, beat({ sourceId: 'c', status: 'down', timestamp: NOW - 5000, receivedAt: NOW + 3_600_000 }), RULES)
  t.match(status, { lastReceivedAt: NOW + 7000, state: 'up' })
  t.end()
})

test('a state never begins before the one that it follows, however slow the clock of a source is', (t) => {
  const status = { ...told('down'), stateReason: 'missed', stateSince: NOW + 5000 }
  t.match(advance(status, beat({ timestamp: NOW }), RULES), { from: 'down', to: 'up', at: NOW + 5000 })
  t.equal(status.stateSince, NOW + 5000)
  t.end()
})

const randomRules = fc.record({
  windowMs: fc.constant(WINDOW),
  confirmations: fc.integer({ min: 1, max: 4 }),
  recoveries: fc.integer({ min: 1, max: 4 }),
  quorum: fc.constant('any')
})

test('with confirmations too, transitions alternate, go forward, and an outage takes as many as it must', (t) => {
  fc.assert(
    fc.property(randomBeats, randomRules, (beats, rules) => {
      const status = monitor()
      let [state, at]: [MonitorState, number] = ['pending', status.stateSince]
      for (const transition of fold(status, beats, rules)) {
        if (transition.from !== state || transition.to === state || transition.at < at) return false
        ;[state, at] = [transition.to, transition.at]
      }
      return state === status.state && status.streak < Math.max(rules.confirmations, rules.recoveries)
    }),
    { numRuns: 3000 }
  )
  t.end()
})

test('it does not matter how heartbeats are grouped, nor that a group comes again', (t) => {
  fc.assert(
    fc.property(randomBeats, randomRules, fc.nat(40), (beats, rules, cut) => {
      const [whole, parts] = [monitor(), monitor()]
      const expected = fold(whole, beats, rules)
      const first = beats.slice(0, cut)
      const found = [
        ...fold(parts, first, rules),
        ...fold(parts, first, rules),
        ...fold(parts, beats.slice(cut), rules),
        ...fold(parts, beats, rules)
      ]
      return JSON.stringify([whole, expected]) === JSON.stringify([parts, found])
    }),
    { numRuns: 2000 }
  )
  t.end()
})
