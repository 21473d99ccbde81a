import { type Test, test } from 'tap'
import type { CheckResult } from '../../agent/checks/check.ts'
import { startSchedule } from '../../agent/schedule.ts'
import type { AgentMonitor } from '../../shared/protocol/frames.ts'
import type { Heartbeat } from '../../shared/protocol/heartbeat.ts'
import { createListLog } from '../support/connected-agent.ts'
import { createManualClock } from '../support/manual-clock.ts'

function monitor(n: number, changes: Partial<AgentMonitor> = {}): AgentMonitor {
  const monitorId = `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
  return { monitorId, name: `site ${n}`, kind: 'http', target: 't', intervalSeconds: 10, timeoutSeconds: 5, ...changes }
}

interface Running {
  monitor: AgentMonitor
  at: number
  signal: AbortSignal
  finish(result?: CheckResult): Promise<void>
}

/** Lets the promises of a finished check run on. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** A schedule whose checks end when the test says so, at once when `instant`. */
function scheduleOf(t: Test, { instant = true } = {}) {
  const clock = createManualClock()
  const reported: Heartbeat[] = []
  const checks: Running[] = []
  const { lines, log } = createListLog()
  const up: CheckResult = { status: 'up', latency: 1 }
  const schedule = startSchedule({
    checks: {
      http(one, signal) {
        let resolve: (result: CheckResult) => void = () => undefined
        const promise = new Promise<CheckResult>((settle) => {
          resolve = settle
        })
        const finish = (result = up) => {
          resolve(result)
          return turn()
        }
        checks.push({ monitor: one, at: clock.monotonic(), signal, finish })
        return instant ? Promise.resolve(up) : promise
      }
    },
    clock,
    log,
    now: clock.now,
    report: (heartbeat) => reported.push(heartbeat)
  })
  t.teardown(() => schedule.stop())
  const pass = async (ms: number, step = 100) => {
    for (let passed = 0; passed < ms; passed += step) {
      clock.advance(step)
      await turn()
    }
  }
  return { schedule, clock, reported, checks, lines, pass }
}

test('a new monitor is checked within about a second, then once in each interval at its own place', async (t) => {
  const { schedule, checks, pass } = scheduleOf(t)
  schedule.update([monitor(1), monitor(2)])
  await pass(1100)
  t.equal(checks.length, 2)
  await pass(60_000)
  for (const n of [1, 2]) {
    const times = checks.filter((check) => check.monitor.monitorId === monitor(n).monitorId).map(({ at }) => at)
    const gaps = times.slice(2).map((at, i) => at - (times[i + 1] ?? 0))
    t.same(new Set(gaps.map(Math.round)), new Set([10_000]))
  }
})

test('monitors are spread over the interval', async (t) => {
  const { schedule, checks, pass } = scheduleOf(t)
  schedule.update(Array.from({ length: 100 }, (_, n) => monitor(n)))
  await pass(30_000)
  const seconds = new Map<number, number>()
  for (const { at } of checks.filter(({ at }) => at >= 20_000)) {
    const second = Math.floor(at / 1000)
    seconds.set(second, (seconds.get(second) ?? 0) + 1)
  }
  t.equal(seconds.size, 10)
  t.ok(Math.max(...seconds.values()) <= 30, `at most ${Math.max(...seconds.values())} of 100 in one second`)
})

test('a heartbeat carries the result and the time of its end', async (t) => {
  const { schedule, clock, reported, checks, pass } = scheduleOf(t, { instant: false })
  schedule.update([monitor(1)])
  await pass(1100)
  clock.advance(900)
  await checks[0]?.finish({ status: 'down', latency: 901, message: 'HTTP 500' })
  const timestamp = new Date(clock.now()).toISOString()
  t.same(reported, [{ monitorId: monitor(1).monitorId, status: 'down', latency: 901, timestamp, message: 'HTTP 500' }])
})

test('a monitor never has two checks at once, and a check is ended at its time-out', async (t) => {
  const { schedule, checks, pass } = scheduleOf(t, { instant: false })
  schedule.update([monitor(1)])
  await pass(35_000)
  t.equal(checks.length, 1)
  t.equal(checks[0]?.signal.aborted, true)
  await checks[0]?.finish()
  await pass(10_100)
  t.equal(checks.length, 2)
})

test('a removed monitor is not reported any more, a changed one is checked anew, others go on', async (t) => {
  const { schedule, checks, reported, pass } = scheduleOf(t, { instant: false })
  schedule.update([monitor(1), monitor(2), monitor(3)])
  await pass(1200)
  schedule.update([monitor(2, { target: 'other' }), monitor(3, { name: 'another name' })])
  t.same(
    checks.map(({ signal }) => signal.aborted).sort(),
    [false, true, true],
    'the removed and the changed check are ended'
  )
  for (const check of [...checks]) await check.finish()
  t.same(
    reported.map(({ monitorId }) => monitorId),
    [monitor(3).monitorId]
  )
  await pass(1200)
  t.same(checks.at(3)?.monitor.target, 'other')
})

test('after a long sleep no check is made up for and none is invented', async (t) => {
  const { schedule, clock, checks, reported, pass } = scheduleOf(t, { instant: false })
  schedule.update([monitor(1), monitor(2)])
  await pass(1100)
  await checks[0]?.finish()
  // The process is stopped for ten minutes: both timers and a running check fall due in one moment.
  clock.sleep(600_000)
  await turn()
  await checks[1]?.finish()
  t.equal(checks.length, 2)
  t.equal(reported.length, 1)
  await pass(10_100)
  t.equal(checks.length, 4)
})

test('kinds that this agent cannot check are told once', async (t) => {
  const { schedule, lines } = scheduleOf(t)
  for (let i = 0; i < 2; i++) {
    schedule.update([monitor(1, { kind: 'dns' }), monitor(2, { kind: 'dns' }), monitor(3, { kind: 'heartbeat' })])
  }
  t.equal(lines.length, 1)
  t.match(lines[0], { level: 'warn', fields: { kind: 'dns' } })
})

test('a stopped schedule checks nothing', async (t) => {
  const { schedule, clock, checks, reported, pass } = scheduleOf(t, { instant: false })
  schedule.update([monitor(1), monitor(2)])
  await pass(1100)
  schedule.stop()
  for (const check of checks) await check.finish()
  t.same(reported, [])
  t.same(clock.pending(), [])
})

test('no more than a hundred checks run at once', async (t) => {
  const { schedule, checks, pass } = scheduleOf(t, { instant: false })
  schedule.update(Array.from({ length: 150 }, (_, n) => monitor(n, { timeoutSeconds: 60 })))
  await pass(5000)
  t.equal(checks.length, 100)
  await checks[0]?.finish()
  t.equal(checks.length, 101)
})
