import { TIMED_STATES, type TimedState } from './contract/heartbeats.ts'

/** From … to …, epoch ms. */
export interface Span {
  from: number
  to: number
}

/** The monitor was in this state for so long. */
export interface StateSpan extends Span {
  state: TimedState
}

export type StateSeconds = Record<TimedState, number>

/** Lays windows of maintenance over the states of a monitor. Both are in order and do not overlap among themselves. */
export function coverByMaintenance(spans: readonly StateSpan[], windows: readonly Span[]): StateSpan[] {
  const covered: StateSpan[] = []
  for (const span of spans) {
    let { from } = span
    for (const window of windows) {
      const [begin, end] = [Math.max(from, window.from), Math.min(span.to, window.to)]
      if (begin >= end) continue
      if (begin > from) covered.push({ ...span, from, to: begin })
      covered.push({ state: 'maintenance', from: begin, to: end })
      from = end
    }
    if (from < span.to) covered.push({ ...span, from })
  }
  return covered
}

const NONE = Object.fromEntries(TIMED_STATES.map((state) => [state, 0])) as StateSeconds

/** How long each state lasted within [from, to). The spans are in order and do not overlap. */
export function secondsByState(spans: readonly StateSpan[], from: number, to: number): StateSeconds {
  const seconds = { ...NONE }
  for (const span of spans) {
    const inside = Math.min(to, span.to) - Math.max(from, span.from)
    if (inside > 0) seconds[span.state] += inside
  }
  for (const state of TIMED_STATES) seconds[state] /= 1000
  return seconds
}

/** Time in which nobody could know (pending, unknown, paused), or that was set apart, counts neither way; null: no other. */
export function uptimeOf({ up, degraded, down }: Pick<StateSeconds, 'up' | 'degraded' | 'down'>): number | null {
  const known = up + degraded + down
  return known === 0 ? null : (up + degraded) / known
}
