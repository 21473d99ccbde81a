import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

/** What an embedded store says while it runs. A pino logger fits. */
export interface StoreLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/** How a store ended; `asked` is true after `stop()`. */
export interface StoreExit {
  code: number | null
  signal: NodeJS.Signals | null
  asked: boolean
}

/** A running embedded store. */
export interface Store {
  url: string
  port: number
  pid: number
  /** Ends it in order; by force when that takes longer than `withinMs` (4 s). */
  stop(withinMs?: number): Promise<void>
  /** Tells it to end and does not wait. */
  kill(): void
  exited: Promise<StoreExit>
}

export interface StoreOptions {
  /** The installation's data folder; whoever holds its lock may start stores in it, nobody else. */
  dataDir: string
  log: StoreLog
  /** The port to listen on; by default the one kept in the data folder, or a free one. */
  port?: number
  /** Ends a start that is still under way. */
  signal?: AbortSignal
}

/** A command with what its spawn needs. */
export interface Command {
  file: string
  args: string[]
  env?: Record<string, string>
  uid?: number
  gid?: number
}

export interface StoreRules {
  name: string
  /** Ends the store when this process dies, whatever way. */
  deathSignal: NodeJS.Signals
  /** Sent one after another by stop(): the first has the time there is, each other one half a second. */
  stopSignals: readonly NodeJS.Signals[]
  /** Whether a line of output is worth a warning. */
  isWarning(line: string): boolean
}

// The messages are matched, so they must not be translated; PG* and LD_* of the caller's environment must not reach a store.
const PLAIN_ENV = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin', LC_ALL: 'C' }
const READY = /ready to accept connections/i
const STILL_STARTING_MS = 5_000
const STOP_MS = 4_000
const FORCE_MS = 500

/** Whether the process ends within `ms`. */
export async function endsWithin(exited: Promise<StoreExit>, ms: number): Promise<boolean> {
  const waiting = new AbortController()
  const late = sleep(ms, 'late' as const, { signal: waiting.signal }).catch(() => 'ended' as const)
  const first = await Promise.race([exited, late])
  waiting.abort()
  return first !== 'late'
}

let deathSignalsWork: boolean | undefined

/** setpriv is util-linux's; without it (macOS) a leftover is found by its pid file at the next start. */
function canSetDeathSignal(): boolean {
  deathSignalsWork ??= spawnSync('setpriv', ['--pdeathsig', 'INT', 'true'], { env: PLAIN_ENV }).status === 0
  return deathSignalsWork
}

/** Prefixes a command so that it dies with this process. Must be the innermost prefix: unshare clears the setting. */
export function dyingWithParent(command: Command, signal: NodeJS.Signals): Command {
  if (!canSetDeathSignal()) return command
  return {
    ...command,
    file: 'setpriv',
    args: ['--pdeathsig', signal.replace('SIG', ''), command.file, ...command.args]
  }
}

/** The spawn options every command of a store shares. */
export function spawnOptions(command: Command) {
  return {
    env: { ...PLAIN_ENV, ...command.env },
    ...(command.uid === undefined ? {} : { uid: command.uid }),
    ...(command.gid === undefined ? {} : { gid: command.gid })
  }
}

function follow(child: ChildProcess, rules: StoreRules, log: StoreLog) {
  const last: string[] = []
  const hear = (line: string) => {
    last.push(line)
    if (last.length > 20) last.shift()
    if (rules.isWarning(line)) log.warn({ store: rules.name }, line)
    else log.info({ store: rules.name }, line)
  }
  const isReady = new Promise<void>((ready) => {
    for (const input of [child.stdout, child.stderr]) {
      if (input === null) continue
      createInterface({ input }).on('line', (line) => {
        if (line.trim() !== '') hear(line)
        if (READY.test(line)) ready()
      })
    }
  })
  return { isReady, last }
}

/**
 * Starts a store and waits until it says that it accepts connections, however long its recovery takes.
 * Rejects with its last lines when it ends before that. It runs in a process group of its own, so the terminal's
 * Ctrl-C does not reach it before its clients have drained.
 */
export async function runStore(
  command: Command,
  rules: StoreRules,
  options: StoreOptions
): Promise<Pick<Store, 'pid' | 'stop' | 'kill' | 'exited'>> {
  const { log, signal } = options
  signal?.throwIfAborted()
  const { file, args } = command
  const child = spawn(file, args, { ...spawnOptions(command), detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let asked = false
  // 'exit', not 'close': the backends of a killed Postgres hold its output open for a while.
  const exited = new Promise<StoreExit>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, by) => resolve({ code, signal: by, asked }))
  })
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const { isReady, last } = follow(child, rules, log)

  const stop = async (withinMs = STOP_MS) => {
    asked = true
    let waitMs = Math.max(withinMs - (rules.stopSignals.length - 1) * FORCE_MS, FORCE_MS)
    for (const next of rules.stopSignals) {
      child.kill(next)
      if (await endsWithin(exited, waitMs)) return
      log.warn({ store: rules.name }, `${rules.name} did not end within ${waitMs} ms of ${next}`)
      waitMs = FORCE_MS
    }
  }

  const kill = () => {
    asked = true
    child.kill(rules.stopSignals[0])
  }

  const abort = () => child.kill('SIGKILL')
  signal?.addEventListener('abort', abort, { once: true })
  const began = Date.now()
  const progress = setInterval(() => {
    const seconds = Math.round((Date.now() - began) / 1_000)
    log.warn(
      { store: rules.name },
      `${rules.name} is still starting after ${seconds} s: ${last.at(-1) ?? 'no output yet'}`
    )
  }, STILL_STARTING_MS)
  try {
    const early = await Promise.race([exited, isReady])
    if (early !== undefined) {
      await Promise.race([closed, sleep(500, undefined, { ref: false })])
      const how = early.signal === null ? `code ${early.code}` : early.signal
      throw new Error(`${rules.name} ended with ${how} before it was ready:\n${last.join('\n')}`)
    }
  } finally {
    clearInterval(progress)
    signal?.removeEventListener('abort', abort)
  }
  return { pid: child.pid as number, stop, kill, exited }
}
