import { slotsAfter } from './cron.ts'

/** When a monitor has to be heard of. */
export interface Timing {
  intervalSeconds: number
  graceSeconds: number
  /** Cron schedule and its time zone; null: by interval. */
  schedule: string | null
  timezone: string | null
}

/** A span, epoch ms, in which no heartbeat could get in. */
export interface Outage {
  from: number
  to: number
}

/** A run may be this much early, or a tenth of the gap between two slots if that is less: clocks differ. */
const MAX_EARLY_MS = 300_000
/** After an outage of ours a monitor gets one more interval, or this if that is less. */
const MAX_EXTRA_MS = 300_000

/** A schedule was read before it was saved; one that this machine cannot read (its zones are older) must not stop it. */
function twoSlots(schedule: string, timezone: string | null, after: number, intervalSeconds: number): [number, number] {
  try {
    return slotsAfter(schedule, timezone ?? 'UTC', after, 2) as [number, number]
  } catch {
    return [after + intervalSeconds * 1000, after + 2 * intervalSeconds * 1000]
  }
}

/**
 * When the next heartbeat is expected after one that was received at `receivedAt`. Of a schedule: its next slot, or the one
 * after when that slot was so near that this heartbeat must be its own. Times are epoch ms.
 */
export function expectedAfter({ intervalSeconds, schedule, timezone }: Timing, receivedAt: number): number {
  if (schedule === null) return receivedAt + intervalSeconds * 1000
  const [next, second] = twoSlots(schedule, timezone, receivedAt, intervalSeconds)
  const early = Math.min(MAX_EARLY_MS, (second - next) / 10)
  return next - receivedAt <= early ? second : next
}

/**
 * When a monitor counts as missed that was last heard of at `receivedAt`. Whoever was expected, or fell due, while nothing
 * could get in has the length of that outage and an interval more. `outages` in order of time.
 */
export function deadlineAfter(timing: Timing, receivedAt: number, outages: readonly Outage[] = []): number {
  let expected = expectedAfter(timing, receivedAt)
  const extra = Math.min(timing.intervalSeconds * 1000, MAX_EXTRA_MS)
  const grace = timing.graceSeconds * 1000
  for (const { from, to } of outages) {
    if (to <= receivedAt || expected >= to || expected + grace < from) continue
    expected += to - from + extra
  }
  return expected + grace
}
