import { type Ballot, outcomeOf, standingVotes } from '../shared/vote.ts'

/**
 * What a heartbeat does to its monitor. Pure: no clock, no database; tested by table and by random sequences.
 */
export type MonitorState = 'pending' | 'up' | 'down' | 'degraded' | 'unknown' | 'paused'
/** What a source may say. */
export type Observation = 'up' | 'down' | 'degraded'

/** What is known of a monitor; `advance` changes it in place. Times are epoch ms. */
export interface MonitorStatus extends Ballot {
  state: MonitorState
  stateReason: string
  stateSince: number
  /** What the newest live heartbeat said, confirmed or not; null before the first. */
  observed: Observation | null
  /** How many heartbeats in a row contradict the state. */
  streak: number
  /** Timestamp of the first of them. */
  streakSince: number | null
  /** When the last live heartbeat reached the edge: silence is counted from here. */
  lastReceivedAt: number | null
  /** Did the newest live heartbeat come over a socket? Null before the first. */
  bySocket: boolean | null
}

/** The configuration that decides what a heartbeat does. */
export interface Rules {
  /** How old a live heartbeat may be when it arrives, in milliseconds (`liveWindow`). */
  windowMs: number
  /** `down` heartbeats in a row that make the monitor down. */
  confirmations: number
  /** Other heartbeats in a row that end an outage. */
  recoveries: number
  /** How many of its agents have to agree: `any`, `majority`, `all`, `count:N`. */
  quorum: string
  /** Does a heartbeat that does not say down end a pause? Asked for monitors that are paused only. */
  resumeOnPing?: boolean
}

export interface Beat {
  sourceId: string
  status: Observation
  /** When it happened, as its source says. */
  timestamp: number
  /** When it reached the edge. */
  receivedAt: number
  bySocket: boolean
}

export interface Transition {
  from: MonitorState
  to: MonitorState
  at: number
  reason: string
}

/**
 * From this timestamp on sources are remembered. Counted from the newest heartbeat and not from the clock, so that it only
 * ever moves forward and what is older is back-fill in every order of delivery.
 */
function horizon(status: MonitorStatus, windowMs: number): number {
  return status.lastHeartbeatAt === null ? Number.NEGATIVE_INFINITY : status.lastHeartbeatAt - 2 * windowMs
}

/**
 * Live: newer than the newest live one of its source, and not too old at arrival. All others are back-fill: history only.
 * Resends and redeliveries are never newer, so they change nothing.
 */
export function isLive(status: MonitorStatus, beat: Beat, windowMs: number): boolean {
  if (beat.receivedAt - beat.timestamp > windowMs || beat.timestamp < horizon(status, windowMs)) return false
  const newest = status.liveSources[beat.sourceId]
  return newest === undefined || beat.timestamp > newest
}

/** Entries behind the horizon decide nothing any more, so the map stays as small as the number of active sources. */
function forget(status: MonitorStatus, windowMs: number): void {
  const oldest = horizon(status, windowMs)
  for (const sourceId in status.liveSources) {
    if ((status.liveSources[sourceId] ?? 0) >= oldest) continue
    delete status.liveSources[sourceId]
    delete status.votes[sourceId]
  }
}

/**
 * Moves the monitor into another state. A source's clock may be behind what is known already; a state never begins before
 * the one that it follows.
 */
export function change(status: MonitorStatus, to: MonitorState, at: number, reason: string): Transition {
  const transition = { from: status.state, to, at: Math.max(at, status.stateSince), reason }
  status.state = to
  status.stateReason = reason
  status.stateSince = transition.at
  status.streak = 0
  status.streakSince = null
  return transition
}

/** How many heartbeats like this one it takes in a row to leave the state; 1 where nothing has to be confirmed. */
function neededFor(state: MonitorState, said: Observation, { confirmations, recoveries }: Rules): number {
  if ((state === 'up' || state === 'degraded') && said === 'down') return confirmations
  return state === 'down' && said !== 'down' ? recoveries : 1
}

/** What its agents say together; null when none of them votes. */
function outcome(status: MonitorStatus, { windowMs, quorum }: Rules): Observation | null {
  return outcomeOf(standingVotes(status, windowMs), quorum)
}

function agree(status: MonitorStatus): null {
  status.streak = 0
  status.streakSince = null
  return null
}

/** One that happened, or was under way, before the pause does not end it, nor does one that is outvoted by down. */
function endsPause({ stateSince }: MonitorStatus, beat: Beat, said: Observation, rules: Rules): boolean {
  if (rules.resumeOnPing !== true || beat.status === 'down' || said === 'down') return false
  return Math.min(beat.timestamp, beat.receivedAt) > stateSince
}

/** What the newest heartbeat makes of the state. Agents decide together, any other source by itself. */
function follow(status: MonitorStatus, beat: Beat, rules: Rules): Transition | null {
  const { timestamp } = beat
  const said = (beat.bySocket && outcome(status, rules)) || beat.status
  if (status.state === said) return agree(status)
  if (status.state === 'paused' && !endsPause(status, beat, said, rules)) return agree(status)
  const needed = neededFor(status.state, said, rules)
  if (needed === 1) return change(status, said, timestamp, 'reported')
  // Who is outvoted confirms nothing.
  if ((beat.status === 'down') !== (said === 'down')) return null
  status.streak++
  status.streakSince ??= timestamp
  if (status.streak < needed) return null
  // An outage began with the first of those that confirm it; it ends when the end is confirmed.
  return change(status, said, said === 'down' ? status.streakSince : timestamp, 'reported')
}

/**
 * What the votes make of the state when one of them changed or left and nothing newer was heard. That is no heartbeat to
 * count: what has to be confirmed is left to the next ones.
 */
export function revote(status: MonitorStatus, at: number, rules: Rules): Transition | null {
  const said = outcome(status, rules)
  if (said === null || status.state === 'paused') return null
  if (said === status.state) return agree(status)
  return neededFor(status.state, said, rules) === 1 ? change(status, said, at, 'reported') : null
}

/**
 * Folds one heartbeat into its monitor. The state follows the heartbeats in the order of their timestamps; one that is
 * older than the newest only proves that its source lives, and changes the vote of an agent. Returns the transition that it
 * causes, or null.
 */
export function advance(status: MonitorStatus, beat: Beat, rules: Rules): Transition | null {
  if (!isLive(status, beat, rules.windowMs)) return null
  status.liveSources[beat.sourceId] = beat.timestamp
  if (beat.bySocket) status.votes[beat.sourceId] = beat.status
  else delete status.votes[beat.sourceId]
  status.lastReceivedAt = Math.max(status.lastReceivedAt ?? beat.receivedAt, beat.receivedAt)
  if (status.lastHeartbeatAt !== null && beat.timestamp <= status.lastHeartbeatAt) {
    return status.bySocket && beat.bySocket ? revote(status, beat.timestamp, rules) : null
  }
  status.lastHeartbeatAt = beat.timestamp
  status.bySocket = beat.bySocket
  status.observed = beat.status
  forget(status, rules.windowMs)
  return follow(status, beat, rules)
}
