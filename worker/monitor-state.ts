/**
 * What a heartbeat does to its monitor. Pure: no clock, no database; tested by table and by random sequences.
 */
export type MonitorState = 'pending' | 'up' | 'down' | 'degraded' | 'unknown' | 'paused'
/** What a source may say. */
export type Observation = 'up' | 'down' | 'degraded'

/** What is known of a monitor; `advance` changes it in place. Times are epoch ms. */
export interface MonitorStatus {
  state: MonitorState
  stateReason: string
  stateSince: number
  /** What the newest live heartbeat said, confirmed or not; null before the first. */
  observed: Observation | null
  /** How many heartbeats in a row contradict the state. */
  streak: number
  /** Timestamp of the first of them. */
  streakSince: number | null
  /** Timestamp of the newest live heartbeat of any source, or null before the first. */
  lastHeartbeatAt: number | null
  /** When the last live heartbeat reached the edge: silence is counted from here. */
  lastReceivedAt: number | null
  /** Did the newest live heartbeat come over a socket? Null before the first. */
  bySocket: boolean | null
  /** Timestamp of the newest live heartbeat of each source. */
  liveSources: Record<string, number>
}

/** The configuration that decides what a heartbeat does. */
export interface Rules {
  /** How old a live heartbeat may be when it arrives, in milliseconds (`liveWindow`). */
  windowMs: number
  /** `down` heartbeats in a row that make the monitor down. */
  confirmations: number
  /** Other heartbeats in a row that end an outage. */
  recoveries: number
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

/** A heartbeat may always be this old and live, in milliseconds. */
export const LIVE_MS = 60_000

/** How old a live heartbeat of this monitor may be when it arrives, in milliseconds. */
export function liveWindow(intervalSeconds: number, graceSeconds: number): number {
  return Math.max(LIVE_MS, (intervalSeconds + graceSeconds) * 1000)
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
    if ((status.liveSources[sourceId] ?? 0) < oldest) delete status.liveSources[sourceId]
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

/** What the newest heartbeat makes of the state. */
function follow(status: MonitorStatus, { status: said, timestamp }: Beat, rules: Rules): Transition | null {
  status.observed = said
  if (status.state === said || status.state === 'paused') {
    status.streak = 0
    status.streakSince = null
    return null
  }
  const needed = neededFor(status.state, said, rules)
  if (needed === 1) return change(status, said, timestamp, 'reported')
  status.streak++
  status.streakSince ??= timestamp
  if (status.streak < needed) return null
  // An outage began with the first of those that confirm it; it ends when the end is confirmed.
  return change(status, said, said === 'down' ? status.streakSince : timestamp, 'reported')
}

/**
 * Folds one heartbeat into its monitor. The state follows the heartbeats in the order of their timestamps; one that is
 * older than the newest only proves that its source lives. Returns the transition that it causes, or null.
 */
export function advance(status: MonitorStatus, beat: Beat, rules: Rules): Transition | null {
  if (!isLive(status, beat, rules.windowMs)) return null
  status.liveSources[beat.sourceId] = beat.timestamp
  status.lastReceivedAt = Math.max(status.lastReceivedAt ?? beat.receivedAt, beat.receivedAt)
  if (status.lastHeartbeatAt !== null && beat.timestamp <= status.lastHeartbeatAt) return null
  status.lastHeartbeatAt = beat.timestamp
  status.bySocket = beat.bySocket
  forget(status, rules.windowMs)
  return follow(status, beat, rules)
}
