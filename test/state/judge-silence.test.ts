import fc from 'fast-check'
import { test } from 'tap'
import { deadlineAfter } from '../../shared/schedule/deadline.ts'
import { judgeSilence, type Quiet } from '../../worker/silence.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')

const randomQuiet: fc.Arbitrary<Quiet> = fc
  .record({
    state: fc.constantFrom('pending', 'up', 'down', 'degraded', 'unknown' as const),
    stateReason: fc.constantFrom('reported', 'missed', 'hung'),
    interval: fc.integer({ min: 10, max: 600 }),
    grace: fc.integer({ min: 0, max: 300 }),
    counted: fc.option(fc.integer({ min: -600, max: 600 })),
    agentFed: fc.boolean(),
    agentIsTarget: fc.boolean(),
    agents: fc.array(fc.record({ opened: fc.integer({ min: -900, max: 900 }), silent: fc.nat(900) }), { maxLength: 2 }),
    runs: fc.array(fc.nat(600), { maxLength: 2 }),
    maxRuntimeSeconds: fc.option(fc.integer({ min: 1, max: 600 }))
  })
  .map(({ interval, grace, counted, agents, runs, ...rest }) => ({
    ...rest,
    stateSince: NOW - 3_600_000,
    lastReceivedAt: NOW,
    countedFrom: counted === null ? null : NOW + counted * 1000,
    alsoMissedAt: null,
    timing: { intervalSeconds: interval, graceSeconds: grace, schedule: null, timezone: null },
    runs: runs.map((second, i) => ({ rid: String(i), startedAt: NOW + second * 1000 })),
    agents: agents.map(({ opened, silent }) => ({
      openedAt: NOW + opened * 1000,
      heardAt: NOW + (opened + silent) * 1000
    }))
  }))
const randomOutages = fc
  .uniqueArray(fc.integer({ min: -300, max: 900 }), { minLength: 0, maxLength: 4 })
  .map((seconds) => seconds.sort((a, b) => a - b).map((second) => NOW + second * 1000))
  .map((edges) =>
    edges.flatMap((from, i) => (i % 2 === 0 && i + 1 < edges.length ? [{ from, to: edges[i + 1] as number }] : []))
  )
const randomWatermark = fc.integer({ min: 0, max: 3600 }).map((second) => NOW + second * 1000)

test('nobody is missed before the deadline, and a change is never told of a time that is not over', (t) => {
  fc.assert(
    fc.property(randomQuiet, randomOutages, randomWatermark, (quiet, outages, watermark) => {
      const { transition, checkAt } = judgeSilence(quiet, { watermark, outages })
      const from = Math.max(NOW, quiet.countedFrom ?? 0)
      const isEarly = watermark < deadlineAfter(quiet.timing, from, outages)
      if (isEarly && transition !== null && transition.reason !== 'hung') return false
      if (transition !== null && (transition.at > watermark || transition.at < quiet.stateSince)) return false
      return checkAt !== null && checkAt > watermark && (transition === null || transition.to !== quiet.state)
    }),
    { numRuns: 5000 }
  )
  t.end()
})

test('who looks only when it is told to look sees the same as who looks all the time', (t) => {
  fc.assert(
    fc.property(randomQuiet, randomOutages, (quiet, outages) => {
      // Agents that are silent for ever are waited for without end.
      const steady = { ...quiet, agentFed: false }
      const seen = (next: (watermark: number, checkAt: number) => number) => {
        for (let watermark = NOW; watermark < NOW + 7_200_000; ) {
          const { transition, checkAt } = judgeSilence(steady, { watermark, outages })
          if (transition !== null) return JSON.stringify(transition)
          watermark = next(watermark, checkAt ?? Number.POSITIVE_INFINITY)
        }
        return 'nothing'
      }
      return seen((watermark) => watermark + 1000) === seen((_watermark, checkAt) => checkAt)
    }),
    { numRuns: 300 }
  )
  t.end()
})

test('whatever happens around it, a paused monitor stays paused', (t) => {
  fc.assert(
    fc.property(randomQuiet, randomOutages, randomWatermark, (quiet, outages, watermark) => {
      const verdict = judgeSilence({ ...quiet, state: 'paused' }, { watermark, outages })
      return verdict.transition === null && verdict.checkAt === null && verdict.hung.length === 0
    })
  )
  t.end()
})

test('with an agent that is there and heard of, silence is down; without one it is unknown, or down with the machine', (t) => {
  fc.assert(
    fc.property(randomQuiet, (quiet) => {
      const watermark = NOW + 7_200_000
      const alone = { ...quiet, state: 'up' as const, runs: [], agentFed: true }
      const gone = judgeSilence({ ...alone, agents: [] }, { watermark, outages: [] }).transition
      const agents = [{ openedAt: NOW - 1000, heardAt: watermark }]
      const there = judgeSilence({ ...alone, agents }, { watermark, outages: [] }).transition
      const isGone = gone?.to === (quiet.agentIsTarget ? 'down' : 'unknown') && gone.reason === 'agent_offline'
      return isGone && there?.to === 'down' && there.reason === 'missed'
    })
  )
  t.end()
})
