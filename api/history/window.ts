import type { HistoryQuery, Resolution } from '../../shared/contract/heartbeats.ts'
import { retentionFrom } from '../../shared/plans.ts'
import { MAX_FUTURE_MS } from '../../shared/protocol/heartbeat.ts'
import { parseTimestamp } from '../../shared/protocol/timestamp.ts'
import { validationFailed } from '../http/validate.ts'

/** The window that is really read, epoch ms. */
export interface Window {
  resolution: Resolution
  from: number
  to: number
  /** Nothing older is shown; null: everything is. */
  retentionFrom: number | null
  clamped: boolean
}

const DAY_MS = 86_400_000
/** The coarsest that `auto` takes up to this length. */
const AUTO: ReadonlyArray<readonly [Resolution, number]> = [
  ['raw', DAY_MS],
  ['5m', 7 * DAY_MS],
  ['1h', 90 * DAY_MS]
]
/** The same for plots, which have room for some hundred points. */
const PLOT: ReadonlyArray<readonly [Resolution, number]> = [
  ['5m', DAY_MS],
  ['1h', 14 * DAY_MS]
]

/** The finest that fits the length and is kept back to `from`. A window that is still open may be longer by its open end. */
function fitting(choices: typeof AUTO, plan: string, from: number, to: number, now: number): Resolution {
  const fits = choices.find(([resolution, longest]) => {
    const kept = retentionFrom(plan, resolution, now)
    return to - from <= longest + 2 * MAX_FUTURE_MS && (kept === null || from >= kept)
  })
  return fits?.[0] ?? '1d'
}

function refuseBackwards(from: number, to: number): void {
  if (from <= to) return
  throw validationFailed([
    { pointer: '?from', code: 'invalid_value', detail: '`from` must not be after `to`, or now where that is absent.' }
  ])
}

function cut(resolution: Resolution, plan: string, wanted: number | null, to: number, now: number): Window {
  const kept = retentionFrom(plan, resolution, now)
  const first = wanted ?? kept ?? 0
  const from = kept === null ? first : Math.max(first, kept)
  return { resolution, from, to: Math.max(from, to), retentionFrom: kept, clamped: from > first || to < from }
}

/** The newest heartbeats may be ahead of our clock by what the door allows. */
function openEnd(now: number): number {
  return now + MAX_FUTURE_MS + 1
}

/**
 * The window of a history query, never older than the plan shows. `fixed`: the resolution that its first page had.
 * @throws AppError validation_failed
 */
export function historyWindow(query: HistoryQuery, plan: string, now: number, fixed: Resolution | null): Window {
  const wanted = query.from === undefined ? null : parseTimestamp(query.from)
  const to = query.to === undefined ? openEnd(now) : parseTimestamp(query.to)
  refuseBackwards(wanted ?? Number.NEGATIVE_INFINITY, to)
  let { resolution } = query
  if (resolution === 'auto') {
    const from = wanted ?? retentionFrom(plan, 'raw', now) ?? 0
    resolution = fixed ?? (query.status === undefined ? fitting(AUTO, plan, from, to, now) : 'raw')
    return cut(resolution, plan, from, to, now)
  }
  if (resolution !== 'raw' && query.status !== undefined) {
    const detail = 'Only single heartbeats have one status: ask with resolution=raw, or leave it out.'
    throw validationFailed([{ pointer: '?status', code: 'invalid_value', detail }])
  }
  return cut(resolution, plan, wanted, to, now)
}

/** The window of a summary: the last day unless said otherwise. @throws AppError validation_failed */
export function summaryWindow(
  query: { from?: string | undefined; to?: string | undefined },
  plan: string,
  now: number
): Window {
  const to = query.to === undefined ? now : parseTimestamp(query.to)
  const from = query.from === undefined ? Math.min(to, now) - DAY_MS : parseTimestamp(query.from)
  refuseBackwards(from, to)
  const end = Math.min(to, now)
  return cut(fitting(PLOT, plan, from, end, now), plan, from, end, now)
}
