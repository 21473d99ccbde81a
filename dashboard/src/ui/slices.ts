const RANK = { up: 1, degraded: 2, down: 3 } as const
export type Known = keyof typeof RANK

/** One of equal parts of a window. */
export interface Slice {
  /** The worst that happened in it; null: nobody knows. */
  status: Known | null
  /** What else is known of it, such as "5 heartbeats". */
  note: string
}

interface Row {
  status: string | null
  timestamp: string
  heartbeats: number
}

/** The worst status of each of `count` equal slices of [from, to), epoch ms, and how many heartbeats it had. */
export function slicesOf(rows: readonly Row[], from: number, to: number, count: number): Slice[] {
  const worst: Array<Known | null> = new Array(count).fill(null)
  const sums: number[] = new Array(count).fill(0)
  for (const { status, timestamp, heartbeats } of rows) {
    const place = Math.floor(((Date.parse(timestamp) - from) / (to - from)) * count)
    if (place < 0 || place >= count) continue
    sums[place] = (sums[place] ?? 0) + heartbeats
    if (status === null || !(status in RANK)) continue
    const known = worst[place] ?? null
    if (known === null || RANK[status as Known] > RANK[known]) worst[place] = status as Known
  }
  return worst.map((status, place) => {
    const sum = sums[place] ?? 0
    return { status, note: sum === 1 ? '1 heartbeat' : `${sum} heartbeats` }
  })
}

/** What a bar shows, for those who do not see it: "up 57, down 2, nothing known 1 of 60". */
export function inWords(slices: readonly Slice[]): string {
  const counts = (['up', 'degraded', 'down'] as const)
    .map((known) => [known, slices.filter(({ status }) => status === known).length] as const)
    .filter(([, count]) => count > 0)
  const known = counts.reduce((sum, [, count]) => sum + count, 0)
  if (known === 0) return 'nothing known'
  const silent = slices.length - known
  const parts = counts.map(([status, count]) => `${status} ${count}`)
  if (silent > 0) parts.push(`nothing known ${silent}`)
  return `${parts.join(', ')} of ${slices.length}`
}

const when = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** One slice of [from, to) in words: "21 Nov 2026, 13:05 – 13:10: up, 5 heartbeats". */
export function sliceInWords(slices: readonly Slice[], place: number, from: number, to: number): string {
  const step = (to - from) / slices.length
  const slice = slices[place]
  const range = when.formatRange(from + place * step, from + (place + 1) * step)
  if (slice === undefined) return range
  const words = [slice.status === null ? 'nothing known' : slice.status, slice.note]
  return `${range}: ${words.filter((word) => word !== '').join(', ')}`
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
