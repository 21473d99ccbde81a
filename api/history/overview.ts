import { OVERVIEW_BUCKETS, OVERVIEW_HOURS, type OverviewAnswer } from '../../shared/contract/overview.ts'
import type { Queryable } from '../../shared/db.ts'
import type { StateSpan } from '../../shared/state-seconds.ts'
import type { MonitorRow } from '../../shared/store/monitors.ts'
import { listChanges, listRecent, type RecentRow, sumUptimes, type UptimeRow } from '../../shared/store/overviews.ts'
import { readRollupState } from '../../shared/store/rollup-state.ts'
import { BUCKET_MS } from '../../shared/store/rollups.ts'
import { spansOf } from '../../shared/store/transitions.ts'

const STEP = BUCKET_MS['5m']
const HOUR_MS = 3_600_000
const WINDOWS = Object.keys(OVERVIEW_HOURS) as Array<keyof typeof OVERVIEW_HOURS>
const RANK = { up: 1, degraded: 2, down: 3 } as const

type Change = Awaited<ReturnType<typeof listChanges>>[number]
type Bucket = OverviewAnswer['recent'][number]

function uptimeFrom(row: UptimeRow | undefined): OverviewAnswer['uptime'] {
  const shares = WINDOWS.map((window, i) => {
    const known = row?.known[i] ?? 0
    return [window, known === 0 ? null : (row?.good[i] ?? 0) / known] as const
  })
  return Object.fromEntries(shares) as OverviewAnswer['uptime']
}

/** Paints the time of which the state tells more than heartbeats: silence, and the hours between rare ones. */
function paint(buckets: Bucket[], spans: readonly StateSpan[], from: number): void {
  for (const { state, from: began, to } of spans) {
    if (state !== 'up' && state !== 'down' && state !== 'degraded') continue
    const last = Math.min(buckets.length - 1, Math.ceil((to - from) / STEP) - 1)
    for (let place = Math.max(0, Math.floor((began - from) / STEP)); place <= last; place++) {
      const bucket = buckets[place]
      if (bucket !== undefined && (bucket.status === null || RANK[bucket.status] < RANK[state])) bucket.status = state
    }
  }
}

function recentFrom(row: RecentRow | undefined): Bucket[] {
  const buckets = Array.from({ length: OVERVIEW_BUCKETS }, (): Bucket => ({ status: null, latency: null }))
  row?.places.forEach((place, i) => {
    // The clock of a reporter may be ahead of ours: what it said of the next bucket waits for it.
    if (place in buckets) buckets[place] = { status: row.statuses[i] ?? null, latency: row.latencies[i] ?? null }
  })
  return buckets
}

/** What the list of monitors shows of each, by internal key: five statements for any number of monitors. */
export async function readOverviews(
  db: Queryable,
  organizationId: string,
  monitors: readonly MonitorRow[],
  now: number
): Promise<Map<number, OverviewAnswer>> {
  if (monitors.length === 0) return new Map()
  const set = { organizationId, monitorKeys: monitors.map(({ key }) => key) }
  const from = (Math.floor(now / STEP) - OVERVIEW_BUCKETS + 1) * STEP
  const since = WINDOWS.map((window) => now - OVERVIEW_HOURS[window] * HOUR_MS)
  const { rolledUntil } = await readRollupState(db)
  const uptimes = new Map((await sumUptimes(db, set, since, now)).map((row) => [row.monitor_key, row]))
  const recent = new Map((await listRecent(db, set, from, rolledUntil)).map((row) => [row.monitor_key, row]))
  const changes = new Map<number, Change[]>()
  for (const change of await listChanges(db, set, from, now)) {
    const known = changes.get(change.monitor_key)
    if (known === undefined) changes.set(change.monitor_key, [change])
    else known.push(change)
  }
  return new Map(
    monitors.map((monitor) => {
      const buckets = recentFrom(recent.get(monitor.key))
      paint(buckets, spansOf(changes.get(monitor.key) ?? [], monitor, from, now), from)
      return [monitor.key, { uptime: uptimeFrom(uptimes.get(monitor.key)), recent: buckets }]
    })
  )
}
