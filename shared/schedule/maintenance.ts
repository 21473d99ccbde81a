import { slotsAfter } from './cron.ts'

/** When a maintenance window is: once, or at each slot of a schedule. Times are epoch ms. */
export type WindowTimes =
  | { readonly startsAt: number; readonly endsAt: number }
  | { readonly schedule: string; readonly timezone: string; readonly durationMinutes: number }

/** Half-open, epoch ms. */
export interface Span {
  readonly from: number
  readonly to: number
}

const MS_PER_MINUTE = 60_000
/** Slots that are asked for at once. */
const SLOTS = 8

function* occurrences(times: WindowTimes, from: number, to: number): Generator<Span> {
  if ('startsAt' in times) {
    yield { from: times.startsAt, to: times.endsAt }
    return
  }
  const { schedule, timezone, durationMinutes } = times
  const lengthMs = durationMinutes * MS_PER_MINUTE
  // `after` is itself no slot, and a window that ends at `from` does not reach it.
  let after = from - lengthMs
  while (true) {
    for (const slot of slotsAfter(schedule, timezone, after, SLOTS)) {
      if (slot >= to) return
      yield { from: slot, to: slot + lengthMs }
      after = slot
    }
  }
}

/** When the window is within [from, to), oldest first, cut to it. */
export function spansOf(times: WindowTimes, { from, to }: Span): Span[] {
  const spans: Span[] = []
  if (from >= to) return spans
  for (const span of occurrences(times, from, to)) {
    const cut = { from: Math.max(span.from, from), to: Math.min(span.to, to) }
    if (cut.from < cut.to) spans.push(cut)
  }
  return spans
}

/** Spans without overlap, oldest first. */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Array<{ from: number; to: number }> = []
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    const last = merged.at(-1)
    if (last !== undefined && span.from <= last.to) last.to = Math.max(last.to, span.to)
    else merged.push({ ...span })
  }
  return merged
}

/** The end of the maintenance that holds at this time, or null: whole, even where it began long ago or another follows. */
export function endOfMaintenance(windows: readonly { times: WindowTimes; valid: Span }[], at: number): number | null {
  let end = at
  for (let moved = true; moved; ) {
    moved = false
    for (const { times, valid } of windows) {
      const reached = endAt(times, valid, end)
      if (reached > end) {
        end = reached
        moved = true
      }
    }
    // A chain of windows that never ends holds nothing for ever.
    if (end - at > LONGEST_MS) break
  }
  return end > at ? end : null
}

const LONGEST_MS = 31 * 86_400_000

/** When the occurrence that holds at this time ends, else the time itself. */
export function endAt(times: WindowTimes, valid: Span, at: number): number {
  if (at < valid.from || at >= valid.to) return at
  const [span] = spansOf(times, { from: at, to: at + 1 })
  if (span === undefined) return at
  const end = 'startsAt' in times ? times.endsAt : slotEnd(times, at)
  return Math.min(end, valid.to)
}

function slotEnd(times: Extract<WindowTimes, { schedule: string }>, at: number): number {
  let end = at
  for (const span of occurrences(times, at, at + 1)) end = Math.max(end, span.to)
  return end
}
