/**
 * What a heartbeat does to its monitor. Pure: no clock, no database; tested by table and by random sequences.
 */
export type MonitorState = 'pending' | 'up' | 'down' | 'degraded' | 'unknown' | 'paused'

/** What is known of a monitor; `advance` changes it in place. Times are epoch ms. */
export interface MonitorStatus {
  state: MonitorState
  stateReason: string
  stateSince: number
  /** Timestamp of the newest live heartbeat of any source, or null before the first. */
  lastHeartbeatAt: number | null
  /** Timestamp of the newest live heartbeat of each source. */
  liveSources: Record<string, number>
}

export interface Beat {
  sourceId: string
  status: 'up' | 'down' | 'degraded'
  /** When it happened, as its source says. */
  timestamp: number
  /** When it reached the edge. */
  receivedAt: number
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
 * Folds one heartbeat into its monitor. The state follows the heartbeat with the newest timestamp, in whatever order they
 * arrive. Returns the transition that it causes, or null.
 */
export function advance(status: MonitorStatus, beat: Beat, windowMs: number): Transition | null {
  if (!isLive(status, beat, windowMs)) return null
  status.liveSources[beat.sourceId] = beat.timestamp
  if (status.lastHeartbeatAt !== null && beat.timestamp <= status.lastHeartbeatAt) return null
  status.lastHeartbeatAt = beat.timestamp
  forget(status, windowMs)
  if (status.state === beat.status || status.state === 'paused') return null
  const transition = { from: status.state, to: beat.status, at: beat.timestamp, reason: 'reported' }
  status.state = beat.status
  status.stateReason = transition.reason
  status.stateSince = beat.timestamp
  return transition
}
