const UNITS: ReadonlyArray<readonly [Intl.RelativeTimeFormatUnit, number]> = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1]
]

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** "3 minutes ago". */
export function agoOf(iso: string, now: number): string {
  const seconds = Math.round((Date.parse(iso) - now) / 1000)
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size || unit === 'second') return relative.format(Math.trunc(seconds / size), unit)
  }
  return ''
}

/** In the reader's own zone and language. */
export function exactOf(iso: string): string {
  return exact.format(new Date(iso))
}

/** "2 h 5 min". */
export function durationOf(seconds: number): string {
  const parts: string[] = []
  let rest = Math.round(seconds)
  for (const [name, size] of [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
    ['s', 1]
  ] as const) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0 && parts.length < 2) parts.push(`${count} ${name}`)
  }
  return parts.length === 0 ? '0 s' : parts.join(' ')
}

export function percentOf(share: number): string {
  return share >= 1 ? '100 %' : `${(Math.floor(share * 10_000) / 100).toFixed(2)} %`
}

export function latencyOf(milliseconds: number | null): string {
  if (milliseconds === null) return '–'
  return milliseconds < 10 ? `${milliseconds.toFixed(1)} ms` : `${Math.round(milliseconds)} ms`
}
