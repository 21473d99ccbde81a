import { setTimeout as sleep } from 'node:timers/promises'

interface Options {
  /** What is waited for, for the message of a failure; the source of the condition when absent. */
  what?: string
  timeoutMs?: number
}

const POLL_MS = 10

/**
 * Polls until the condition's value is neither false, null nor undefined, and resolves to it. An error thrown by the
 * condition counts as "not yet". @throws after `timeoutMs` (default 5,000), naming what was waited for and the last error.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { what = condition.toString(), timeoutMs = 5000 }: Options = {}
): Promise<Exclude<Awaited<T>, false | null | undefined>> {
  const end = performance.now() + timeoutMs
  let cause: unknown
  while (true) {
    try {
      const value = await condition()
      // The three values that mean "not yet" have just been excluded.
      if (value !== false && value !== null && value !== undefined) {
        return value as Exclude<Awaited<T>, false | null | undefined>
      }
      cause = undefined
    } catch (error) {
      cause = error
    }
    if (performance.now() > end) throw new Error(`Not within ${timeoutMs} ms: ${what}`, { cause })
    await sleep(POLL_MS)
  }
}
