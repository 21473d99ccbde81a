import type { Slice } from './heartbeat-bar.tsx'

const RANK = { up: 1, degraded: 2, down: 3 } as const

interface Row {
  status: string
  timestamp: string
}

/** The worst status of each of `count` equal slices of [from, to), epoch ms. */
export function slicesOf(rows: readonly Row[], from: number, to: number, count: number): Slice[] {
  const slices: Slice[] = new Array(count).fill(null)
  for (const { status, timestamp } of rows) {
    if (!(status in RANK)) continue
    const place = Math.floor(((Date.parse(timestamp) - from) / (to - from)) * count)
    if (place < 0 || place >= count) continue
    const known = slices[place]
    const rank = RANK[status as keyof typeof RANK]
    if (known === null || known === undefined || rank > RANK[known as keyof typeof RANK])
      slices[place] = status as Slice
  }
  return slices
}
