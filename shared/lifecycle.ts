import { StartupError } from './env.ts'
import { createLog, type Log } from './log.ts'

/** Something that lives and is stopped. */
export interface Stoppable {
  stop(): Promise<void> | void
}

export interface Lifecycle<C> {
  config: C
  log: Log
  /** Registers a thing to be stopped; stops run in reverse order. Returns the thing. */
  stopWith<T extends Stoppable>(thing: T): T
  /** Ends the process in order, with the given exit code, because of `reason`. */
  quit(reason: string, exitCode: number): void
}

/** Longest time all things together may take to stop, in milliseconds; service managers often kill after 10 s. */
const STOP_MS = 9000
/** npm passes Ctrl-C on although the terminal already sent it: a repeat this soon is the same wish. */
const REPEAT_MS = 1000

function withDeadline(stopping: Promise<void> | void, ms: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), ms)
    Promise.resolve(stopping).then(
      () => {
        clearTimeout(timer)
        resolve(true)
      },
      (error) => {
        clearTimeout(timer)
        reject(error)
      }
    )
  })
}

/** One deadline for all: what comes after it is still told to stop, and not waited for. Resolves to whether all did. */
async function stopAll(things: Stoppable[], log: Log, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs
  let clean = true
  for (const thing of things.reverse()) {
    try {
      if (!(await withDeadline(thing.stop(), Math.max(deadline - performance.now(), 0)))) {
        if (clean) log.error({ withinMs }, 'not everything stopped in time; the rest is cut off')
        clean = false
      }
    } catch (error) {
      clean = false
      log.error({ err: error }, 'a part failed to stop')
    }
  }
  return clean
}

/** A child of the supervisor ends when the pipe on its stdin closes, so that no orphan outlives a killed parent. */
function watchParent(onGone: () => void): void {
  process.stdin.on('end', onGone)
  process.stdin.on('error', onGone)
  process.stdin.resume()
}

/** What `run` itself needs to know. */
interface RunConfig {
  LOG_LEVEL: string
  PULSEGATE_PARENT_PIPE: boolean
  /** Longest time that stopping may take altogether, in milliseconds; 9 s when absent. */
  stopWithinMs?: number
}

/**
 * Runs a process: reads its configuration, starts it, and stops its parts in reverse order on SIGTERM, SIGINT or when the
 * parent is gone. A second signal forces the exit. Exit codes: 0 stopped in order, 1 a part failed, 78 bad configuration.
 */
export async function run<C extends RunConfig>(
  name: string,
  readConfig: () => C,
  main: (life: Lifecycle<C>) => Promise<void>
): Promise<void> {
  let log = createLog(name)
  const things: Stoppable[] = []
  let stoppingSince = 0
  let stopWithinMs = STOP_MS

  function quit(reason: string, exitCode: number): void {
    if (stoppingSince > 0) {
      if (Date.now() - stoppingSince < REPEAT_MS) return
      log.warn({ reason }, 'stopping at once')
      process.exit(1)
    }
    stoppingSince = Date.now()
    log.info({ reason }, 'stopping')
    void stopAll(things, log, stopWithinMs).then((clean) => {
      log.info('stopped')
      process.exit(clean ? exitCode : 1)
    })
  }

  process.on('SIGTERM', () => quit('SIGTERM', 0))
  process.on('SIGINT', () => quit('SIGINT', 0))
  // Node itself would print the error with everything that hangs on it.
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error: unknown) => {
      log.fatal({ err: error }, event)
      quit(event, 1)
    })
  }
  try {
    const config = readConfig()
    log = createLog(name, config.LOG_LEVEL)
    stopWithinMs = config.stopWithinMs ?? STOP_MS
    if (config.PULSEGATE_PARENT_PIPE) watchParent(() => quit('parent gone', 0))
    await main({
      config,
      log,
      stopWith: (thing) => {
        things.push(thing)
        return thing
      },
      quit
    })
    log.info('ready')
  } catch (error) {
    if (error instanceof StartupError) log.fatal(error.message)
    else log.fatal({ err: error }, 'could not start')
    await stopAll(things, log, stopWithinMs)
    process.exit(error instanceof StartupError ? 78 : 1)
  }
}
