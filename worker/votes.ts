import { ONLINE_MS } from '../shared/presence.ts'
import { deadlineAfter } from '../shared/schedule/deadline.ts'
import type { MonitorStateRow } from '../shared/store/monitor-states.ts'
import { isSplit, standingVotes } from '../shared/vote.ts'
import { rulesOf, toStatus } from './fold.ts'
import { revote, type Transition } from './monitor-state.ts'
import type { Horizon } from './silence.ts'

export interface VoteVerdict {
  /** Whose votes count no more. */
  gone: string[]
  /** When the next of them may be gone; null: it would change nothing. */
  checkAt: number | null
  transition: Transition | null
}

/** Nobody can come back while we are away, so an outage of ours prolongs it as it does every deadline. */
const PATIENCE = { intervalSeconds: ONLINE_MS / 1000, graceSeconds: 0, schedule: null, timezone: null }

/**
 * What is left of the vote when the agents that are offline leave it. While all agents say the same it does not matter who
 * leaves, so nothing is looked at. `seenAt`: when agents of the monitor were last heard of, epoch ms. Pure.
 */
export function judgeVotes(
  row: MonitorStateRow,
  seenAt: ReadonlyMap<string, number>,
  { watermark, outages }: Horizon
): VoteVerdict {
  const [status, rules] = [toStatus(row), rulesOf(row)]
  const verdict: VoteVerdict = { gone: [], checkAt: null, transition: null }
  if (!isSplit(status)) return verdict
  const standing = new Map(standingVotes(status, rules.windowMs))
  for (const sourceId of Object.keys(status.votes)) {
    const seen = standing.has(sourceId) ? seenAt.get(sourceId) : undefined
    const leavesAt = seen === undefined ? watermark : deadlineAfter(PATIENCE, seen, outages)
    if (leavesAt > watermark) verdict.checkAt = Math.min(verdict.checkAt ?? leavesAt, leavesAt)
    else {
      verdict.gone.push(sourceId)
      delete status.votes[sourceId]
    }
  }
  // What silence said holds until somebody reports.
  if (status.stateReason === 'reported') verdict.transition = revote(status, watermark, rules)
  return verdict
}
