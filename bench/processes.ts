import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Linux counts CPU time in ticks of 10 ms (`getconf CLK_TCK` is 100 on every architecture that Node runs on). */
const MICROSECONDS_PER_TICK = 10_000
const STOP_MS = 10_000
const PAGE_BYTES = 4096

export interface BenchProcess {
  readonly name: string
  readonly pid: number
  /** Resolves with the next line of JSON whose `event` is the given one; rejects when the process ends before. */
  event<T>(name: string): Promise<T>
  ended(): boolean
  /** Closes its input and sends SIGTERM; kills it after 10 s. */
  stop(): Promise<void>
}

interface Expected {
  name: string
  resolve(value: unknown): void
  reject(error: Error): void
}

function parseEvent(line: string): { event?: string } {
  if (!line.startsWith('{"event"')) return {}
  return JSON.parse(line) as { event?: string }
}

/** Listens to a child's events; one that comes before somebody asks for it is kept. */
function createMailbox(name: string, child: ChildProcess) {
  const expected: Expected[] = []
  const kept: Array<{ event: string }> = []
  let ended = false
  if (child.stdout) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const parsed = parseEvent(line)
      if (parsed.event === undefined) {
        // A warning or worse: LOG_LEVEL keeps the rest away.
        process.stderr.write(`${name}: ${line}\n`)
        return
      }
      const place = expected.findIndex((one) => one.name === parsed.event)
      if (place >= 0) expected.splice(place, 1)[0]?.resolve(parsed)
      else kept.push(parsed as { event: string })
    })
  }
  child.once('close', (code, signal) => {
    ended = true
    for (const one of expected) one.reject(new Error(`${name} ended (${code ?? signal}) before "${one.name}"`))
  })
  return <T>(event: string): Promise<T> => {
    const place = kept.findIndex((one) => one.event === event)
    if (place >= 0) return Promise.resolve(kept.splice(place, 1)[0] as T)
    if (ended) return Promise.reject(new Error(`${name} has ended`))
    return new Promise<T>((resolve, reject) => {
      expected.push({ name: event, resolve: (value) => resolve(value as T), reject })
    })
  }
}

/**
 * Starts a compiled script beside this one, by path relative to `bench/`, in a process group of its own so that the
 * terminal's Ctrl-C reaches only the bench. What it says on stderr is shown.
 */
export function startProcess(
  name: string,
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  nodeArgs: readonly string[] = []
): BenchProcess {
  const file = fileURLToPath(new URL(script, import.meta.url))
  const child = spawn(process.execPath, [...nodeArgs, file, ...args], {
    env,
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit']
  })
  const exited = once(child, 'exit')
  const ended = () => child.exitCode !== null || child.signalCode !== null
  // An end of the pipe that the child has left first is no fault: its exit is seen where somebody waits for an event.
  child.stdin.on('error', () => child.stdin.destroy())
  return {
    name,
    pid: child.pid as number,
    event: createMailbox(name, child),
    ended,
    async stop() {
      if (ended()) return
      child.stdin.end()
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
      await exited
      clearTimeout(timer)
    }
  }
}

/** Runs a compiled script to its end. @throws when it ends with anything but 0. */
export async function runToEnd(
  name: string,
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>
): Promise<void> {
  const file = fileURLToPath(new URL(script, import.meta.url))
  const child = spawn(process.execPath, [file, ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  if (code !== 0) throw new Error(`${name} ended (${code ?? signal})`)
}

/** Fields of /proc/<pid>/stat after the name, which may itself hold spaces and brackets. */
function statFields(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

const PARENT = 1
const USER = 11
const SYSTEM = 12
const CHILDREN_USER = 13
const CHILDREN_SYSTEM = 14

function ticks(fields: readonly string[], ...places: number[]): number {
  return places.reduce((sum, place) => sum + Number(fields[place]), 0)
}

/** CPU time that a process has used so far, user and system, in microseconds. */
export function cpuOf(pid: number): number {
  return ticks(statFields(pid), USER, SYSTEM) * MICROSECONDS_PER_TICK
}

/** The same for a process and all its children, those included that have ended: Postgres is one process a connection. */
export function cpuOfFamily(pid: number): number {
  let sum = ticks(statFields(pid), USER, SYSTEM, CHILDREN_USER, CHILDREN_SYSTEM)
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const fields = statFields(Number(entry))
      if (Number(fields[PARENT]) === pid) sum += ticks(fields, USER, SYSTEM)
    } catch (error) {
      // It has ended since the folder was listed; its time is in the parent's sum at the next reading.
      if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    }
  }
  return sum * MICROSECONDS_PER_TICK
}

const STAT_USER = 1
const STAT_NICE = 2
const STAT_SYSTEM = 3
const STAT_STOLEN = 8

/** CPU time that the whole machine has used so far, in microseconds; what a hypervisor took from it counts too. */
export function cpuOfMachine(): number {
  const fields = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/ +/) ?? []
  return ticks(fields, STAT_USER, STAT_NICE, STAT_SYSTEM, STAT_STOLEN) * MICROSECONDS_PER_TICK
}

/** Resident memory of a process, in bytes. */
export function memoryOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES
}
