import { AppError } from '../../shared/errors.ts'

/** Runs a piece of work when its turn comes. @throws AppError overloaded when too many wait already. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>

/** At most `concurrent` pieces of work at once, in the order they came; `waiting` more may stand in line. */
export function createTurns(concurrent: number, waiting: number): Turns {
  const line: Array<() => void> = []
  let running = 0
  return async (work) => {
    if (running >= concurrent) {
      if (line.length >= waiting) throw new AppError('overloaded', { retryAfterSeconds: 2 })
      // Whoever ends hands its place over, so `running` stays as it is.
      await new Promise<void>((resolve) => line.push(resolve))
    } else running++
    try {
      return await work()
    } finally {
      const next = line.shift()
      if (next === undefined) running--
      else next()
    }
  }
}
