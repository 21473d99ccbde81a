import type { HeartbeatStatus } from './protocol/heartbeat.ts'

/** What the agents of a monitor say. Times are epoch ms. */
export interface Ballot {
  /** What each agent last said over its socket. */
  votes: Record<string, HeartbeatStatus>
  /** Timestamp of the newest live heartbeat of each source. */
  liveSources: Record<string, number>
  /** Timestamp of the newest live heartbeat of any source, or null before the first. */
  lastHeartbeatAt: number | null
}

/** The columns of monitor_states that hold a ballot. */
export interface BallotRow {
  observed: HeartbeatStatus | null
  last_heartbeat_at: Date | null
  by_socket: boolean | null
  last_source_id: string | null
  other_sources: Record<string, number>
  other_votes: Record<string, HeartbeatStatus>
}

/** The row that goes on saying the same is written without its vote: what was observed last is the vote of its source. */
export function ballotOf(row: BallotRow): Ballot {
  const [votes, liveSources] = [{ ...row.other_votes }, { ...row.other_sources }]
  const lastHeartbeatAt = row.last_heartbeat_at?.getTime() ?? null
  if (row.last_source_id !== null && lastHeartbeatAt !== null) {
    liveSources[row.last_source_id] = lastHeartbeatAt
    if (row.by_socket && row.observed !== null) votes[row.last_source_id] = row.observed
  }
  return { votes, liveSources, lastHeartbeatAt }
}

/**
 * The votes that count: of agents that reported within the live window. It ends at the newest heartbeat and not now, so the
 * order of delivery decides nothing.
 */
export function standingVotes(ballot: Ballot, windowMs: number): Array<[sourceId: string, said: HeartbeatStatus]> {
  const oldest = (ballot.lastHeartbeatAt ?? 0) - windowMs
  return Object.entries(ballot.votes).filter(([sourceId]) => (ballot.liveSources[sourceId] ?? 0) >= oldest)
}

/** How many of so many voters it takes. Those that are there decide, so it is never more than all of them. */
export function votesNeeded(quorum: string, voters: number): number {
  if (quorum === 'any') return 1
  if (quorum === 'majority') return Math.floor(voters / 2) + 1
  return quorum === 'all' ? voters : Math.min(Number(quorum.slice('count:'.length)), voters)
}

/** The worst that enough of these votes agree on, who says worse agreeing; null when nobody votes. */
export function outcomeOf(votes: ReadonlyArray<readonly [string, HeartbeatStatus]>, quorum: string) {
  if (votes.length === 0) return null
  const needed = votesNeeded(quorum, votes.length)
  const count = (status: HeartbeatStatus) => votes.filter(([, said]) => said === status).length
  if (count('down') >= needed) return 'down'
  return count('down') + count('degraded') >= needed ? 'degraded' : 'up'
}

/** Only while its agents disagree may it matter that one of them leaves. */
export function isSplit({ votes }: Pick<Ballot, 'votes'>): boolean {
  return new Set(Object.values(votes)).size > 1
}
