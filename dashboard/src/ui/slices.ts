import type { Slice } from './heartbeat-bar.tsx'

const RANK = { up: 1, degraded: 2, down: 3 } as const
type Known = keyof typeof RANK

interface Row {
  status: string | null
  timestamp: string
}

/** The worst status of each of `count` equal slices of [from, to), epoch ms. */
export function slicesOf(rows: readonly Row[], from: number, to: number, count: number): Slice[] {
  const slices: Slice[] = new Array(count).fill(null)
  for (const { status, timestamp } of rows) {
    if (status === null || !(status in RANK)) continue
    const place = Math.floor(((Date.parse(timestamp) - from) / (to - from)) * count)
    if (place < 0 || place >= count) continue
    const known = slices[place]
    if (known === null || known === undefined || RANK[status as Known] > RANK[known as Known]) {
      slices[place] = status as Slice
    }
  }
  return slices
}

/** What a bar shows, for those who do not see it: "up 57, down 2, nothing known 1 of 60". */
export function inWords(slices: readonly Slice[]): string {
  const counts = (['up', 'degraded', 'down'] as const)
    .map((status) => [status, slices.filter((slice) => slice === status).length] as const)
    .filter(([, count]) => count > 0)
  const known = counts.reduce((sum, [, count]) => sum + count, 0)
  if (known === 0) return 'nothing known'
  const silent = slices.length - known
  const parts = counts.map(([status, count]) => `${status} ${count}`)
  if (silent > 0) parts.push(`nothing known ${silent}`)
  return `${parts.join(', ')} of ${slices.length}`
}

interface Bucket {
  seconds: Partial<Record<string, number>>
  heartbeats: Partial<Record<string, number>>
}

/** The worst that a bucket of history tells, by its heartbeats and by the state, which tells silence. */
export function worstOf({ seconds, heartbeats }: Bucket): Known | null {
  const order = ['down', 'degraded', 'up'] as const
  return order.find((status) => (seconds[status] ?? 0) > 0 || (heartbeats[status] ?? 0) > 0) ?? null
}
