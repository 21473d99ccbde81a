import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import type { TearsDown } from './database.ts'
import { waitFor } from './wait-for.ts'

const PORTS = ['API', 'HTTP', 'INGEST', 'API_ADMIN', 'GATEWAY_ADMIN', 'WORKER_ADMIN'].map((name) => [
  `${name}_PORT`,
  '0'
])

/** What `npm start` starts, on a data folder of its own and free ports. */
export interface StartedInstallation {
  child: ChildProcess
  pid: number
  /** All that it printed so far. */
  output(): string
  /** Waits until the output matches, and resolves to the match. */
  said(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray>
  /** Resolves when the supervisor has ended. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Every process of this installation that lives, stores and their helpers too. */
  living(): Promise<number[]>
  /** The process of that name, as it is now. */
  pidOf(name: 'gateway' | 'api' | 'worker' | 'redis' | 'postgres'): Promise<number>
}

async function environmentMentions(pid: string, dataDir: string): Promise<boolean> {
  const [environment, command] = await Promise.all(
    ['environ', 'cmdline'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => ''))
  )
  return `${environment} ${command}`.includes(dataDir)
}

async function readPid(dataDir: string, name: string): Promise<number> {
  if (name === 'redis') return Number(await readFile(join(dataDir, 'redis/redis.pid'), 'utf8'))
  if (name === 'postgres')
    return Number((await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8')).split('\n')[0])
  return (JSON.parse(await readFile(join(dataDir, 'run', `${name}.json`), 'utf8')) as { pid: number }).pid
}

/** Starts the built `dist/local/main.js`; ended by force when the test ends. */
export function startInstallation(
  t: TearsDown,
  dataDir: string,
  env: Record<string, string> = {}
): StartedInstallation {
  const child = spawn(process.execPath, ['dist/local/main.js'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...Object.fromEntries(PORTS), DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
  }
  const ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }))
  const living = async () => {
    // Without /proc (macOS) nobody can be found by environment; the ends are then seen by their exits alone.
    if (!existsSync('/proc/self')) return []
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    const ours = await Promise.all(pids.map((pid) => environmentMentions(pid, dataDir)))
    return pids.filter((_, index) => ours[index]).map(Number)
  }
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
    for (const pid of await living()) if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL')
  })
  return {
    child,
    pid: child.pid as number,
    output: () => text,
    said: (pattern, timeoutMs = 30_000) =>
      waitFor(() => pattern.exec(text), { what: `output like ${pattern}`, timeoutMs }).catch((cause: unknown) => {
        throw new Error(`${(cause as Error).message}; only got:\n${text}`, { cause })
      }),
    ended,
    living,
    pidOf: (name) => readPid(dataDir, name)
  }
}

/** The status of an answer to a client that trusts `ca`. */
export function statusOf(url: string, ca: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { ca, agent: false }, (res) => resolve(res.resume().statusCode ?? 0))
      .on('error', reject)
      .end()
  })
}
