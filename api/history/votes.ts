import type { Queryable } from '../../shared/db.ts'
import { liveWindow } from '../../shared/live-window.ts'
import { ONLINE_MS } from '../../shared/presence.ts'
import type { HeartbeatStatus } from '../../shared/protocol/heartbeat.ts'
import { type ExplanationRow, listAgentsSeenSince } from '../../shared/store/explanations.ts'
import { ballotOf, standingVotes } from '../../shared/vote.ts'

export interface Vote {
  agentId: string
  name: string
  status: HeartbeatStatus
  /** Of the heartbeat that said so, epoch ms. */
  timestamp: number
}

/** What the agents that decide together say now; none when something else told the newest heartbeat. */
export async function readVotes(
  db: Queryable,
  organizationId: string,
  row: ExplanationRow,
  now: number
): Promise<Vote[]> {
  if (!row.by_socket) return []
  const ballot = ballotOf(row)
  const standing = new Map(standingVotes(ballot, liveWindow(row.interval_seconds, row.grace_seconds)))
  const agents = await listAgentsSeenSince(db, organizationId, [...standing.keys()], new Date(now - ONLINE_MS))
  return agents.flatMap(({ id, name }) => {
    const [status, timestamp] = [standing.get(id), ballot.liveSources[id]]
    return status === undefined || timestamp === undefined ? [] : [{ agentId: id, name, status, timestamp }]
  })
}
