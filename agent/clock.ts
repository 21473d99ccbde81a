/** Time as the agent sees it; passed in, so that tests move it. */
export interface Clock {
  /** The machine's wall clock, epoch milliseconds; may jump. */
  now(): number
  /** Milliseconds that only grow. */
  monotonic(): number
  /** Calls back once after `ms`; the returned function cancels. */
  after(ms: number, callback: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  }
}

/** The gateway's time, carried on by the monotonic clock, so that a jump of the machine's clock never stamps a heartbeat. */
export interface GatewayTime {
  /** Epoch milliseconds; the machine's own clock before the first correction. */
  now(): number
  /** Takes over the gateway's time, which was read about half of `roundTripMs` ago. */
  correct(gatewayNow: number, roundTripMs: number): void
  /** How far the machine's wall clock is ahead of the gateway's, in milliseconds. */
  skewMs(): number
  /** How far the wall clock and the monotonic clock have parted since the correction: a set clock, or a sleep. */
  jumpMs(): number
}

export function createGatewayTime(clock: Clock): GatewayTime {
  let offset: number | null = null
  let wallOffset = 0
  const now = () => (offset === null ? clock.now() : Math.round(offset + clock.monotonic()))
  return {
    now,
    correct(gatewayNow, roundTripMs) {
      offset = gatewayNow + roundTripMs / 2 - clock.monotonic()
      wallOffset = clock.now() - clock.monotonic()
    },
    skewMs: () => Math.round(clock.now() - now()),
    jumpMs: () => (offset === null ? 0 : Math.round(clock.now() - clock.monotonic() - wallOffset))
  }
}
