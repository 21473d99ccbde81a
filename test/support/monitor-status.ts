import fc from 'fast-check'
import {
  advance,
  type Beat,
  type MonitorState,
  type MonitorStatus,
  type Rules,
  type Transition
} from '../../worker/monitor-state.ts'

export const NOW = Date.parse('2026-11-21T10:00:00.000Z')
export const WINDOW = 90_000
export const RULES: Rules = { windowMs: WINDOW, confirmations: 1, recoveries: 1, quorum: 'any' }

export function monitor(changes: Partial<MonitorStatus> = {}): MonitorStatus {
  return {
    state: 'pending',
    stateReason: 'created',
    stateSince: NOW - 3_600_000,
    observed: null,
    streak: 0,
    streakSince: null,
    lastHeartbeatAt: null,
    lastReceivedAt: null,
    bySocket: null,
    liveSources: {},
    votes: {},
    ...changes
  }
}

export function beat(changes: Partial<Beat> = {}): Beat {
  const timestamp = changes.timestamp ?? NOW
  return { sourceId: 'a', status: 'up', timestamp, receivedAt: timestamp, bySocket: false, ...changes }
}

/** A monitor that was last told its state by source a. */
export function told(state: MonitorState, timestamp = NOW - 60_000): MonitorStatus {
  const since = { stateReason: 'reported', stateSince: timestamp - 600_000 }
  return monitor({ state, ...since, lastHeartbeatAt: timestamp, liveSources: { a: timestamp } })
}

export const STATUSES = ['up', 'down', 'degraded'] as const

/** A few sources over a few minutes, so that equal times, late arrivals and long silences all happen. */
export const randomBeat: fc.Arbitrary<Beat> = fc
  .record({
    sourceId: fc.constantFrom('a', 'b', 'c'),
    status: fc.constantFrom(...STATUSES),
    second: fc.nat(900),
    lateMs: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: -60_000, max: WINDOW }) }, fc.nat(7_200_000))
  })
  .map(({ sourceId, status, second, lateMs }) => {
    const timestamp = NOW + second * 1000
    return { sourceId, status, timestamp, receivedAt: timestamp + lateMs, bySocket: sourceId === 'a' }
  })
/** Of two with one identity only the first is a row, so a source says one thing at one time. */
export const randomBeats = fc.uniqueArray(randomBeat, {
  maxLength: 40,
  selector: ({ sourceId, timestamp }) => `${sourceId} ${timestamp}`
})

export function fold(status: MonitorStatus, beats: readonly Beat[], rules = RULES): Transition[] {
  return beats.flatMap((one) => advance(status, one, rules) ?? [])
}
