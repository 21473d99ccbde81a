import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { dataDirFor } from './data-dir.ts'
import type { TearsDown } from './database.ts'
import type { Stores } from './ingest.ts'

export interface ProcessEnd {
  code: number | null
  signal: NodeJS.Signals | null
}

interface Run {
  child: ChildProcess
  port: number
  ended: Promise<ProcessEnd>
}

/** A gateway or worker as a process of its own, to be treated badly. */
export interface KillableProcess {
  /** What it listens on for agents; another one after each restart. */
  port(): number
  /** Sends a signal to the present process, and expects that it may end of it. */
  signal(signal: NodeJS.Signals): void
  /** Resolves when the present process has ended. */
  ended(): Promise<ProcessEnd>
  /** Starts it again; the one before must have ended. */
  start(): Promise<void>
  /** SIGKILL, and a new process. */
  crash(): Promise<void>
  /** Ends that nobody asked for, with the last lines before them. */
  readonly crashes: readonly string[]
}

interface LogLine {
  level: string
  msg: string
  port?: number
}

/** The lines of its log that are JSON; anything else is kept as it is. */
function readLine(text: string): LogLine {
  try {
    // Written by our own log.
    return JSON.parse(text) as LogLine
  } catch {
    return { level: 'error', msg: text }
  }
}

function environmentOf(stores: Stores, dataDir: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl,
    REDIS_PREFIX: stores.prefix,
    SECRETS_KEY: stores.secretsKey,
    DATA_DIR: dataDir,
    TLS_MODE: 'proxy',
    INGEST_PORT: '0',
    GATEWAY_ADMIN_PORT: '0',
    WORKER_ADMIN_PORT: '0',
    // All agents of a test come from one address, and are refused often while things are down.
    RATE_LIMIT_SCALE: '1000',
    PULSEGATE_PARENT_PIPE: '1'
  }
}

/** Resolves when the process says that it is ready. @throws with its last lines when it ends before. */
async function startOnce(kind: 'gateway' | 'worker', env: NodeJS.ProcessEnv, last: string[]): Promise<Run> {
  const child = spawn(process.execPath, ['--import', 'tsx', `${kind}/main.ts`], {
    env,
    // It ends when its stdin does, so nothing is left behind when the test itself is killed.
    stdio: ['pipe', 'pipe', 'pipe']
  })
  const ended = new Promise<ProcessEnd>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
  let port = 0
  const ready = new Promise<'ready'>((resolve) => {
    for (const input of [child.stdout, child.stderr]) {
      createInterface({ input }).on('line', (text) => {
        const line = readLine(text)
        if (line.level !== 'info' && last.push(text.slice(0, 2000)) > 20) last.shift()
        if (line.msg === 'listening for agents') port = line.port ?? 0
        if (line.msg === 'ready') resolve('ready')
      })
    }
  })
  // A killed process cannot read what is still written to it.
  child.stdin.on('error', (error) => last.push(error.message))
  const first = await Promise.race([ready, ended])
  if (first !== 'ready')
    throw new Error(`${kind} ended with ${JSON.stringify(first)} at its start:\n${last.join('\n')}`)
  return { child, port, ended }
}

/** Starts a gateway or a worker on these stores; it is killed when the test ends. */
export async function startKillable(
  t: TearsDown,
  kind: 'gateway' | 'worker',
  stores: Stores
): Promise<KillableProcess> {
  const env = environmentOf(stores, await dataDirFor(t))
  const last: string[] = []
  const crashes: string[] = []
  let asked = false

  async function startWatched(): Promise<Run> {
    asked = false
    const run = await startOnce(kind, env, last)
    void run.ended.then((end) => {
      if (!asked) crashes.push(`${kind} ended by itself with ${JSON.stringify(end)}:\n${last.join('\n')}`)
    })
    return run
  }

  let run = await startWatched()
  const signal = (name: NodeJS.Signals) => {
    asked ||= name !== 'SIGSTOP' && name !== 'SIGCONT'
    run.child.kill(name)
  }
  const start = async () => {
    run = await startWatched()
  }
  t.teardown(async () => {
    signal('SIGKILL')
    await run.ended
  })
  return {
    port: () => run.port,
    signal,
    ended: () => run.ended,
    start,
    crash: async () => {
      signal('SIGKILL')
      await run.ended
      await start()
    },
    crashes
  }
}
