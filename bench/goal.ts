/** A line of the report: what is wanted, and what was measured. */
export interface Goal {
  what: string
  wanted: string
  measured: string
  met: boolean
}
