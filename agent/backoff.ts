import type { ClientAction } from '../shared/protocol/close-codes.ts'

const FIRST_MS = 1000
const LONGEST_MS = 60_000
/** A restarting gateway asks its agents back within this time, so that they do not all come at once. */
const SOON_MS = 5000
const HOLD_MS = 3_600_000
/** Agents that were refused in one moment must not return in one. */
const HOLD_JITTER_MS = 300_000
/** A server may ask for patience, but not switch an agent off. */
const LONGEST_ASKED_MS = 3_600_000

/** How long a connection must have been welcome for its end not to count against it, in milliseconds. */
export const HEALTHY_MS = 60_000

export interface Pause {
  readonly action: ClientAction
  /** Unhealthy connections in a row before this pause. */
  readonly attempts: number
  /** What the gateway asked for (`retryAfterMs`, `Retry-After`). */
  readonly atLeastMs: number
}

/** Longest random part of the pause. */
function jitterMs(action: ClientAction, attempts: number): number {
  switch (action) {
    case 'hold':
      return HOLD_JITTER_MS
    case 'return-soon':
      return SOON_MS
    case 'retry':
    case 'contend':
      return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempts, 10))
  }
}

/**
 * Milliseconds until the next attempt: full jitter, 1 s growing to 60 s. What was asked for comes before the jitter,
 * because a fixed `Retry-After` would bring all agents back in one moment.
 */
export function backoffMs({ action, attempts, atLeastMs }: Pause, random: () => number): number {
  const asked = Math.min(atLeastMs, LONGEST_ASKED_MS)
  const least = action === 'hold' ? Math.max(asked, HOLD_MS) : asked
  return least + random() * jitterMs(action, attempts)
}
