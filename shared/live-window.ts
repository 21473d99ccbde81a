/** A heartbeat may always be this old and live, in milliseconds. */
export const LIVE_MS = 60_000

/** How old a live heartbeat of this monitor may be when it arrives, in milliseconds. */
export function liveWindow(intervalSeconds: number, graceSeconds: number): number {
  return Math.max(LIVE_MS, (intervalSeconds + graceSeconds) * 1000)
}
