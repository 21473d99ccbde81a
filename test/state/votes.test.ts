import fc from 'fast-check'
import { test } from 'tap'
import { votesNeeded } from '../../shared/vote.ts'
import { advance, type Beat, type MonitorState, type Rules, revote } from '../../worker/monitor-state.ts'
import { beat, fold, monitor, NOW, RULES, randomBeats, STATUSES, WINDOW } from '../support/monitor-status.ts'

const QUORUMS = ['any', 'majority', 'all', 'count:1', 'count:2', 'count:50']
const SAID = { u: 'up', d: 'down', g: 'degraded' } as const

/** `au bd` is: agent a says up, a second later agent b says down. */
function beatsOf(told: string): Beat[] {
  return told.split(' ').map((one, second) => {
    const status = SAID[one[1] as keyof typeof SAID]
    return beat({ sourceId: one[0] as string, status, timestamp: NOW + second * 1000, bySocket: true })
  })
}

/** The states that a monitor goes through from `up`, each with the second in which it begins. */
function stepsOf(told: string, rules: Partial<Rules>): string {
  const status = monitor({ state: 'up', stateSince: NOW - 60_000 })
  const steps = fold(status, beatsOf(told), { ...RULES, ...rules })
  return steps.map(({ to, at }) => `${to} ${(at - NOW) / 1000}`).join(', ')
}

const TABLE: Array<[told: string, rules: Partial<Rules>, steps: string]> = [
  ['au bd cu au cu', { quorum: 'any' }, 'down 1'],
  ['au bd au bu', { quorum: 'any' }, 'down 1, up 3'],
  ['au bd cg bu', { quorum: 'any' }, 'down 1, degraded 3'],
  ['au bd cu bd', { quorum: 'majority' }, ''],
  ['au bd cd bu', { quorum: 'majority' }, 'down 2, up 3'],
  ['au bd cg', { quorum: 'majority' }, 'degraded 2'],
  ['au bd', { quorum: 'majority' }, ''],
  ['au bu cd bd ad bu', { quorum: 'all' }, 'down 4, up 5'],
  ['au bd cg ag', { quorum: 'all' }, 'degraded 3'],
  ['au bu cu dd ed', { quorum: 'count:2' }, 'down 4'],
  ['ad', { quorum: 'count:2' }, 'down 0'],
  ['au bd', { quorum: 'count:50' }, ''],
  ['au bd au cu bd', { quorum: 'any', confirmations: 2 }, 'down 1'],
  ['au bd au bu bd', { quorum: 'any', confirmations: 2 }, ''],
  ['au bd cd au bd', { quorum: 'majority', confirmations: 2 }, 'down 2'],
  ['bd cu bu cu', { quorum: 'any', recoveries: 2 }, 'down 0, up 3']
]

for (const [told, rules, steps] of TABLE) {
  test(`told ${told} with ${JSON.stringify(rules)} a monitor becomes ${steps || 'nothing else'}`, (t) => {
    t.equal(stepsOf(told, rules), steps)
    t.end()
  })
}

test('it takes one, more than half, all, or so many, and never more than there are', (t) => {
  const needed = (quorum: string) => [1, 2, 3, 4, 5].map((voters) => votesNeeded(quorum, voters))
  t.same(needed('any'), [1, 1, 1, 1, 1])
  t.same(needed('majority'), [1, 2, 2, 3, 3])
  t.same(needed('all'), [1, 2, 3, 4, 5])
  t.same(needed('count:3'), [1, 2, 3, 3, 3])
  t.end()
})

test('an agent that reported nothing within the live window votes no more', (t) => {
  const status = monitor()
  fold(status, beatsOf('ad bu'), { ...RULES, quorum: 'any' })
  t.equal(status.state, 'down')
  const last = beat({ sourceId: 'b', timestamp: NOW + WINDOW, bySocket: true })
  t.equal(advance(status, last, RULES), null)
  t.match(advance(status, { ...last, timestamp: NOW + WINDOW + 1 }, RULES), { to: 'up', at: NOW + WINDOW + 1 })
  t.end()
})

test('a vote that comes late still counts, from the time when the state that it ends began at the earliest', (t) => {
  const status = monitor()
  fold(status, beatsOf('au bu'))
  t.match(advance(status, beat({ sourceId: 'c', status: 'down', bySocket: true }), RULES), { to: 'down', at: NOW })
  t.match(status, { observed: 'up', lastHeartbeatAt: NOW + 1000 })
  t.end()
})

test('what comes by HTTP decides by itself until an agent reports again', (t) => {
  const status = monitor()
  const rules = { ...RULES, quorum: 'all' }
  fold(status, beatsOf('au bu'), rules)
  t.match(advance(status, beat({ sourceId: 'h', status: 'down', timestamp: NOW + 2000 }), rules), { to: 'down' })
  t.equal(advance(status, beat({ sourceId: 'c', timestamp: NOW + 1500, bySocket: true }), rules), null)
  const next = beat({ sourceId: 'b', status: 'down', timestamp: NOW + 3000, bySocket: true })
  t.match(advance(status, next, rules), { to: 'up' }, 'the other agents still say so')
  t.end()
})

test('who leaves the vote changes the state, unless that has to be confirmed', (t) => {
  for (const [recoveries, to] of [
    [1, 'up'],
    [2, 'down']
  ] as const) {
    const status = monitor()
    const rules = { ...RULES, recoveries }
    fold(status, beatsOf('ad bu'), rules)
    delete status.votes.a
    const transition = revote(status, NOW + 60_000, rules)
    t.same(transition, to === 'down' ? null : { from: 'down', to, at: NOW + 60_000, reason: 'reported' })
    t.equal(status.state, to)
    delete status.votes.b
    t.equal(revote(status, NOW + 120_000, rules), null, 'nobody is left to say anything')
  }
  t.end()
})

const randomRules: fc.Arbitrary<Rules> = fc.record({
  windowMs: fc.constant(WINDOW),
  confirmations: fc.integer({ min: 1, max: 3 }),
  recoveries: fc.integer({ min: 1, max: 3 }),
  quorum: fc.constantFrom(...QUORUMS)
})
const atOnce = randomRules.map((rules) => ({ ...rules, confirmations: 1, recoveries: 1 }))
const ofAgents = randomBeats.map((beats) => beats.map((one) => ({ ...one, bySocket: true })))
const shuffled = ofAgents.chain((beats) =>
  fc.tuple(fc.constant(beats), fc.shuffledSubarray(beats, { minLength: beats.length }))
)

/** Told without regard to order: the state that the newest punctual heartbeat of each agent makes. */
function expectedState(beats: readonly Beat[], quorum: string): MonitorState {
  const punctual = beats.filter(({ receivedAt, timestamp }) => receivedAt - timestamp <= WINDOW)
  const end = Math.max(...punctual.map(({ timestamp }) => timestamp))
  const votes = ['a', 'b', 'c'].flatMap((sourceId) => {
    const own = punctual.filter((one) => one.sourceId === sourceId).sort((a, b) => b.timestamp - a.timestamp)
    return own[0] !== undefined && own[0].timestamp >= end - WINDOW ? [own[0].status] : []
  })
  if (votes.length === 0) return 'pending'
  const worstFirst = votes.sort((a, b) => ['down', 'degraded', 'up'].indexOf(a) - ['down', 'degraded', 'up'].indexOf(b))
  return worstFirst[votesNeeded(quorum, votes.length) - 1] as MonitorState
}

test('whatever the order of arrival, the state is what the newest punctual heartbeats of the agents make together', (t) => {
  fc.assert(
    fc.property(shuffled, atOnce, ([, beats], rules) => {
      const status = monitor()
      fold(status, beats, rules)
      return status.state === expectedState(beats, rules.quorum)
    }),
    { numRuns: 5000 }
  )
  t.end()
})

test('redelivery changes neither the vote nor anything else, whenever it comes', (t) => {
  fc.assert(
    fc.property(shuffled, randomRules, ([first, again], rules) => {
      const status = monitor()
      fold(status, first, rules)
      const before = JSON.stringify(status)
      return fold(status, again, rules).length === 0 && JSON.stringify(status) === before
    }),
    { numRuns: 2000 }
  )
  t.end()
})

test('back-fill of agents never moves the present', (t) => {
  fc.assert(
    fc.property(ofAgents, randomRules, (beats, rules) => {
      const [all, punctual] = [monitor(), monitor()]
      const only = beats.filter(({ receivedAt, timestamp }) => receivedAt - timestamp <= WINDOW)
      return (
        JSON.stringify(fold(all, beats, rules)) === JSON.stringify(fold(punctual, only, rules)) &&
        JSON.stringify(all) === JSON.stringify(punctual)
      )
    }),
    { numRuns: 2000 }
  )
  t.end()
})

test('transitions of a vote form a chain from state to state that never goes back in time', (t) => {
  fc.assert(
    fc.property(ofAgents, randomRules, (beats, rules) => {
      const status = monitor()
      let [state, at]: [MonitorState, number] = ['pending', status.stateSince]
      for (const transition of fold(status, beats, rules)) {
        if (transition.from !== state || transition.to === state || transition.at < at) return false
        ;[state, at] = [transition.to, transition.at]
      }
      return state === status.state && status.streak < Math.max(rules.confirmations, rules.recoveries)
    }),
    { numRuns: 2000 }
  )
  t.end()
})

test('a monitor with one agent is the same under every rule, and the same as without a vote', (t) => {
  fc.assert(
    fc.property(randomBeats, randomRules, fc.constantFrom(...STATUSES), (beats, rules, state) => {
      const own = beats.filter(({ sourceId }) => sourceId === 'a')
      const seen = (bySocket: boolean, quorum: string) => {
        const status = monitor({ state })
        const steps = fold(
          status,
          own.map((one) => ({ ...one, bySocket })),
          { ...rules, quorum }
        )
        return JSON.stringify([steps, { ...status, bySocket: null, votes: null }])
      }
      return QUORUMS.every((quorum) => seen(true, quorum) === seen(false, 'any'))
    }),
    { numRuns: 1000 }
  )
  t.end()
})
