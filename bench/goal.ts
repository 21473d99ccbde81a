/** A line of the report: what is wanted, and what was measured. */
export interface Goal {
  what: string
  wanted: string
  measured: string
  met: boolean
}

/** At most so many milliseconds. */
export function within(what: string, most: number, value: number, more = ''): Goal {
  return { what, wanted: `≤ ${most} ms`, measured: `${value.toFixed(1)} ms${more}`, met: value <= most }
}
