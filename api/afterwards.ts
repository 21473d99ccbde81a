import type { Log } from '../shared/log.ts'

export interface Afterwards {
  /** Begins the work and returns at once; what goes wrong is logged under `what`. */
  run(what: string, work: () => Promise<unknown>): void
  /** Waits a moment for what is under way. */
  stop(): Promise<void>
}

/** Whoever asks for more is not helped by memory that fills up. */
const MAX_UNDER_WAY = 500
/** Longest wait at a stop, in milliseconds. */
const STOP_MS = 3000

/** Work that no answer waits for, so that the time of the answer does not tell whether there was any. */
export function createAfterwards(log: Log): Afterwards {
  const underWay = new Set<Promise<void>>()
  return {
    run: (what, work) => {
      if (underWay.size >= MAX_UNDER_WAY) {
        log.warn({ what }, 'too much is under way; this is left out')
        return
      }
      const running: Promise<void> = work()
        .then(
          () => undefined,
          (error) => log.error({ err: error, what }, 'work after an answer failed')
        )
        .finally(() => underWay.delete(running))
      underWay.add(running)
    },
    stop: async () => {
      let timer: NodeJS.Timeout | undefined
      const deadline = new Promise((resolve) => {
        timer = setTimeout(resolve, STOP_MS)
      })
      await Promise.race([Promise.all(underWay), deadline])
      clearTimeout(timer)
    }
  }
}
