export interface ManualClock {
  now(): number
  monotonic(): number
  after(ms: number, callback: () => void): () => void
  /** Moves both clocks and rings what falls due, in order. */
  advance(ms: number): void
  /** As `advance`, for a process that was stopped meanwhile: what fell due rings only at the end. */
  sleep(ms: number): void
  /** Moves only the wall clock, as a person who sets it. */
  setBack(ms: number): void
  /** Milliseconds until each timer that is set, ascending. */
  pending(): number[]
}

/** A clock that stands still until it is moved. */
export function createManualClock(startsAt = Date.parse('2026-11-21T10:00:00.000Z')): ManualClock {
  let wall = startsAt
  let passed = 0
  const timers = new Set<{ at: number; callback: () => void }>()

  function nextDue(until: number) {
    const due = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)
    return due[0]
  }

  return {
    now: () => wall,
    monotonic: () => passed,
    after(ms, callback) {
      const timer = { at: passed + ms, callback }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    advance(ms) {
      const end = passed + ms
      for (let timer = nextDue(end); timer !== undefined; timer = nextDue(end)) {
        timers.delete(timer)
        wall += Math.max(0, timer.at - passed)
        passed = Math.max(passed, timer.at)
        timer.callback()
      }
      wall += end - passed
      passed = end
    },
    sleep(ms) {
      wall += ms
      passed += ms
      const due = [...timers].filter(({ at }) => at <= passed).sort((a, b) => a.at - b.at)
      for (const timer of due) if (timers.delete(timer)) timer.callback()
    },
    setBack(ms) {
      wall -= ms
    },
    pending: () => [...timers].map(({ at }) => at - passed).sort((a, b) => a - b)
  }
}
