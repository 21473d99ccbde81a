/** The oldest frame that a connection sent and never saw acknowledged. */
export interface Suspect {
  readonly seq: number
  readonly items: number
}

/** Most heartbeats in a frame: what the gateway allows, less after a batch seems to end connections. */
export interface BatchLimit {
  /** Most items now, given the gateway's `maxBatch`. */
  within(maxBatch: number): number
  /** Judges the end of a connection; true when the limit was halved, so that the suspect must be framed anew. */
  afterClose(code: number, suspect: Suspect | null): boolean
  /** After a healthy connection: full batches again. */
  restore(): void
}

const TOO_BIG = 1009
/** uWebSockets.js cuts a connection without a close frame on what it cannot take, so 1006 may be the batch's doing. */
const CUT = 1006
const CUTS_BEFORE_SUSPICION = 3

export function createBatchLimit(): BatchLimit {
  let limit = Number.POSITIVE_INFINITY
  let cuts = { seq: 0, count: 0 }
  return {
    within: (maxBatch) => Math.max(1, Math.min(limit, maxBatch)),
    afterClose(code, suspect) {
      if (suspect === null || (code !== TOO_BIG && code !== CUT)) return false
      if (code === CUT) {
        cuts = { seq: suspect.seq, count: cuts.seq === suspect.seq ? cuts.count + 1 : 1 }
        if (cuts.count < CUTS_BEFORE_SUSPICION) return false
      }
      cuts = { seq: 0, count: 0 }
      if (suspect.items <= 1) return false
      limit = Math.ceil(suspect.items / 2)
      return true
    },
    restore() {
      limit = Number.POSITIVE_INFINITY
    }
  }
}
