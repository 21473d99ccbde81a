import { setTimeout as sleep } from 'node:timers/promises'
import type { Say } from './say.ts'
import type { StoreExit } from './store.ts'

/** A process that was started. */
export interface Running {
  pid: number
  /** Ends it in order, by force when that takes longer than `withinMs`. */
  stop(withinMs: number): Promise<void>
  /** Tells it to end and does not wait. */
  kill(): void
  exited: Promise<StoreExit>
}

export interface Kept {
  readonly name: string
  stop(withinMs: number): Promise<void>
  kill(): void
}

interface Options<R extends Running> {
  name: string
  say: Say
  /** `again` is false the first time. */
  start: (signal: AbortSignal, again: boolean) => Promise<R>
  /** What to do instead of starting again, when this exit says that doing so is pointless. */
  giveUp?: (exit: StoreExit) => boolean
}

const FIRST_BACKOFF_MS = 200
const LONGEST_BACKOFF_MS = 10_000
/** After this long without a crash the next one counts as the first. */
const HEALTHY_MS = 30_000

function wordsFor(exit: StoreExit): string {
  return exit.signal === null ? `ended with code ${exit.code}` : `was ended by ${exit.signal}`
}

/**
 * Starts something and starts it again whenever it ends, with a growing pause, until stopped.
 * Rejects when the first start does.
 */
export async function keepRunning<R extends Running>(options: Options<R>): Promise<{ kept: Kept; first: R }> {
  const { name, say, start } = options
  const stopping = new AbortController()
  const first = await start(stopping.signal, false)
  let current: R | undefined = first

  async function startAgain(backoffMs: number): Promise<number> {
    await sleep(backoffMs, undefined, { signal: stopping.signal })
    try {
      current = await start(stopping.signal, true)
      say.line('info', `${name} runs again (process ${current.pid})`)
    } catch (error) {
      if (stopping.signal.aborted) return backoffMs
      const text = error instanceof Error ? error.message : String(error)
      say.line('error', `${name} could not start again: ${text}`)
    }
    return Math.min(backoffMs * 2, LONGEST_BACKOFF_MS)
  }

  async function watch(): Promise<void> {
    let backoffMs = FIRST_BACKOFF_MS
    let since = Date.now()
    while (!stopping.signal.aborted) {
      if (current !== undefined) {
        const exit = await current.exited
        current = undefined
        if (stopping.signal.aborted || options.giveUp?.(exit)) return
        if (Date.now() - since > HEALTHY_MS) backoffMs = FIRST_BACKOFF_MS
        say.line('warn', `${name} ${wordsFor(exit)}; starting it again in ${backoffMs} ms`)
      }
      backoffMs = await startAgain(backoffMs)
      since = Date.now()
    }
  }

  const watching = watch().catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error
  })
  const kept: Kept = {
    name,
    stop: async (withinMs) => {
      const running = current
      stopping.abort()
      await running?.stop(withinMs)
      await watching
      // A start that was under way may just have succeeded.
      if (current !== running) await current?.stop(withinMs)
    },
    kill: () => {
      const running = current
      stopping.abort()
      running?.kill()
    }
  }
  return { kept, first }
}
