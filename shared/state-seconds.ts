import { MONITOR_STATES, type MonitorState } from './contract/monitors.ts'

/** The monitor was in this state from … to …, epoch ms. */
export interface StateSpan {
  state: MonitorState
  from: number
  to: number
}

export type StateSeconds = Record<MonitorState, number>

/** How long each state lasted within [from, to). The spans are in order and do not overlap. */
export function secondsByState(spans: readonly StateSpan[], from: number, to: number): StateSeconds {
  const ms = Object.fromEntries(MONITOR_STATES.map((state) => [state, 0])) as StateSeconds
  for (const span of spans) {
    const inside = Math.min(to, span.to) - Math.max(from, span.from)
    if (inside > 0) ms[span.state] += inside
  }
  for (const state of MONITOR_STATES) ms[state] /= 1000
  return ms
}

/** Time in which nobody could know (pending, unknown, paused) counts neither way; null when there is no other. */
export function uptimeOf({ up, degraded, down }: StateSeconds): number | null {
  const known = up + degraded + down
  return known === 0 ? null : (up + degraded) / known
}
