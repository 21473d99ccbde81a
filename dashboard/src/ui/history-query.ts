import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type Answer, call } from '../api.ts'
import type { Points } from './latency-plot.tsx'
import { type Slice, slicesOf, worstOf } from './slices.ts'

export type Monitor = Answer<'GET /v1/monitors/{id}'>
type Entry = Answer<'GET /api/heartbeats'>['data'][number]
export type Heartbeat = Extract<Entry, { status: string }>
type Bucket = Extract<Entry, { uptime: number | null }>
type Resolution = 'raw' | '5m' | '1h' | '1d'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** How far back each window goes, and in what it is drawn; `all` begins with the monitor. */
export const WINDOWS = {
  '1h': { words: 'hour', ms: HOUR_MS, resolution: 'raw', step: 0 },
  '24h': { words: '24 hours', ms: DAY_MS, resolution: '5m', step: 300 },
  '7d': { words: '7 days', ms: 7 * DAY_MS, resolution: '1h', step: 3600 },
  '30d': { words: '30 days', ms: 30 * DAY_MS, resolution: '1h', step: 3600 },
  '90d': { words: '90 days', ms: 90 * DAY_MS, resolution: '1d', step: 86_400 },
  all: { words: 'whole retention', ms: null, resolution: '1d', step: 86_400 }
} as const satisfies Record<string, { words: string; ms: number | null; resolution: Resolution; step: number }>
export type Window = keyof typeof WINDOWS

export interface Shown {
  points: Points
  slices: Slice[]
  retentionFrom: string | null
  clamped: boolean
}

/** Where a window begins; all of a monitor's history begins with it, or with a heartbeat that it brought along. */
export function beginOf(window: Window, monitor: Monitor, now: number): number {
  const { ms } = WINDOWS[window]
  return ms === null ? Math.min(now - DAY_MS, Math.floor(Date.parse(monitor.createdAt) / DAY_MS) * DAY_MS) : now - ms
}

/** Pages that are read for one plot: ten thousand points. */
const MOST_PAGES = 10

async function readAll(monitorId: string, from: number, resolution: Resolution, signal: AbortSignal) {
  const data: Entry[] = []
  let cursor: string | undefined
  for (let page = 0; ; page++) {
    const query = { monitorId, from: new Date(from).toISOString(), resolution, limit: 1000, cursor }
    const answer = await call('GET /api/heartbeats', { query }, signal)
    data.push(...answer.data)
    if (answer.nextCursor === null || page + 1 === MOST_PAGES) return { ...answer, data: data.reverse() }
    cursor = answer.nextCursor
  }
}

function linesOf(data: readonly Entry[]): Points['lines'] {
  if (data.every((entry) => 'status' in entry)) {
    return [{ label: 'Latency', values: (data as Heartbeat[]).map(({ latency }) => latency) }]
  }
  const buckets = data as Bucket[]
  return (['p50', 'p95', 'p99'] as const).map((name) => ({
    label: name,
    values: buckets.map(({ latency }) => latency?.[name] ?? null)
  }))
}

/** A span of silence that is no gap: a heartbeat may be a grace late. */
function gapOf(monitor: Monitor, step: number): number {
  return Math.max(step * 1.5, monitor.intervalSeconds + monitor.graceSeconds)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0)
}

async function readShown(monitor: Monitor, window: Window, signal: AbortSignal): Promise<Shown> {
  const { resolution, step } = WINDOWS[window]
  const now = Date.now()
  const from = beginOf(window, monitor, now)
  const { data, retentionFrom, clamped } = await readAll(monitor.id, from, resolution, signal)
  const seconds = (now - from) / 1000
  const count = Math.max(1, Math.min(60, Math.floor(seconds / Math.max(step, monitor.intervalSeconds))))
  const rows = data.map((entry) =>
    'status' in entry
      ? { ...entry, heartbeats: 1 }
      : { status: worstOf(entry), timestamp: entry.timestamp, heartbeats: sum(Object.values(entry.heartbeats)) }
  )
  const times = data.map(({ timestamp }) => Date.parse(timestamp) / 1000)
  return {
    points: { from, to: now, times, lines: linesOf(data), gapSeconds: gapOf(monitor, step) },
    slices: slicesOf(rows, from, now, count),
    retentionFrom,
    clamped
  }
}

/** What a window of a monitor's history looks like, kept fresh. */
export function useShown(monitor: Monitor, window: Window) {
  return useQuery({
    queryKey: ['monitors', monitor.id, 'history', window, monitor.intervalSeconds],
    queryFn: ({ signal }) => readShown(monitor, window, signal),
    refetchInterval: window === '1h' ? 5000 : 60_000,
    placeholderData: keepPreviousData
  })
}

/** Uptime and percentiles of a window. */
export function useFigures(monitor: Monitor, window: Window) {
  return useQuery({
    queryKey: ['monitors', monitor.id, 'summary', window],
    queryFn: async ({ signal }) => {
      const from = new Date(beginOf(window, monitor, Date.now())).toISOString()
      return call('GET /v1/monitors/{id}/summary', { params: { id: monitor.id }, query: { from } }, signal)
    },
    refetchInterval: 30_000,
    placeholderData: keepPreviousData
  })
}
