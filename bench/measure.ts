import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadPlan, LoadResult } from './load-plan.ts'
import type { Pipeline } from './pipelines.ts'
import { cpuOf, cpuOfFamily, cpuOfMachine, startProcess } from './processes.ts'
import { checkpoint, type Ground } from './setup.ts'

export const PROCESSES = ['gateway', 'worker', 'redis', 'postgres'] as const
/** CPU microseconds. */
export type CpuTimes = Record<(typeof PROCESSES)[number], number>

export interface Measurement extends LoadResult {
  rows: number
  /** Rows in the table per second, from the first frame until the queue is empty. */
  persistedPerSecond: number
  /** CPU microseconds per heartbeat, from the first frame until the queue is empty. */
  cpu: CpuTimes
  /** What programs that are not part of the bench used meanwhile, in cores. */
  others: number
}

export interface Shape {
  loop: 'closed' | 'open'
  itemsPerFrame: number
  rate?: number
  durationMs: number
}

/** Sockets of every load. */
export const CONNECTIONS = 1000
const CLOSED_WINDOW = 16
/** The protocol's `maxInFlight`. */
const OPEN_WINDOW = 64
const SETTLE_MS = 1500
const QUEUE_POLL_MS = 10
const DRAIN_MS = 60_000

/** Where the load goes. */
export type Target = Pick<Pipeline, 'port' | 'caFile'>

export function planFor(ground: Ground, { port, caFile }: Target, shape: Shape): LoadPlan {
  return {
    port,
    caFile,
    fleetFile: ground.fleetFile,
    firstSender: 0,
    connections: CONNECTIONS,
    loop: shape.loop,
    window: shape.loop === 'open' ? OPEN_WINDOW : CLOSED_WINDOW,
    itemsPerFrame: shape.itemsPerFrame,
    rate: shape.rate ?? 0,
    durationMs: shape.durationMs,
    settleMs: Math.min(SETTLE_MS, shape.durationMs / 2),
    hello: true
  }
}

/** Runs the load generator once. `onStart` is called when all sockets are open, just before the first frame. */
export async function runLoad(ground: Ground, plan: LoadPlan, onStart?: () => void): Promise<LoadResult> {
  const generator = startProcess('load generator', './load-generator.js', [JSON.stringify(plan)], ground.childEnv)
  try {
    await generator.event('connected')
    onStart?.()
    const result = await generator.event<LoadResult>('done')
    if (result.unacked > 0) throw new Error(`${result.unacked} heartbeats were never acknowledged`)
    if (result.rejected > 0) throw new Error(`${result.rejected} heartbeats were rejected`)
    return result
  } finally {
    await generator.stop()
  }
}

/** CPU microseconds of everything, and the time in milliseconds. */
interface Reading {
  time: number
  machine: number
  bench: number
  cpu: CpuTimes
}

function readNow(ground: Ground, pipeline: Pipeline): Reading {
  const { user, system } = process.cpuUsage()
  return { time: Date.now(), machine: cpuOfMachine(), bench: user + system, cpu: cpuNow(ground, pipeline) }
}

function sumOf(cpu: CpuTimes): number {
  return PROCESSES.reduce((sum, name) => sum + cpu[name], 0)
}

/** Cores that programs outside of the bench used between two readings; `generator`: share of a core. */
function othersBetween(before: Reading, after: Reading, generator: number): number {
  const microseconds = (after.time - before.time) * 1000
  const ours = after.bench - before.bench + sumOf(after.cpu) - sumOf(before.cpu)
  return Math.max(0, (after.machine - before.machine - ours) / microseconds - generator)
}

function cpuNow(ground: Ground, pipeline: Pipeline): CpuTimes {
  const worker = pipeline.worker()
  return {
    gateway: cpuOf(pipeline.gateway.pid),
    worker: worker ? cpuOf(worker.pid) : 0,
    redis: cpuOf(ground.redisPid),
    postgres: cpuOfFamily(ground.postgresPid)
  }
}

function perHeartbeat(before: CpuTimes, after: CpuTimes, heartbeats: number): CpuTimes {
  const share = (name: keyof CpuTimes) => (after[name] - before[name]) / heartbeats
  return { gateway: share('gateway'), worker: share('worker'), redis: share('redis'), postgres: share('postgres') }
}

/** Epoch milliseconds at which the queue was first seen empty. */
export async function untilEmpty(pipeline: Pipeline): Promise<number> {
  const deadline = Date.now() + DRAIN_MS
  while ((await pipeline.queued()) > 0) {
    if (Date.now() > deadline) throw new Error(`the ${pipeline.name} worker did not empty its queue in 60 s`)
    await sleep(QUEUE_POLL_MS)
  }
  return Date.now()
}

export async function countRows(ground: Ground, table: Pipeline['table']): Promise<number> {
  const [row] = await ground.db.query<{ count: number }>(`select count(*) from ${table}`)
  return row?.count ?? 0
}

/** An empty table and nothing left to write for Postgres: every measurement begins alike. */
export async function cleanSlate(ground: Ground, table: Pipeline['table']): Promise<void> {
  await ground.db.query(`truncate ${table}`)
  await checkpoint(ground.db)
}

/** One load through a whole pipeline. @throws when a heartbeat that was acknowledged is not in the table exactly once. */
export async function measurePipeline(ground: Ground, pipeline: Pipeline, shape: Shape): Promise<Measurement> {
  await cleanSlate(ground, pipeline.table)
  let before = readNow(ground, pipeline)
  const result = await runLoad(ground, planFor(ground, pipeline, shape), () => {
    before = readNow(ground, pipeline)
  })
  const loaded = readNow(ground, pipeline)
  const emptyAt = await untilEmpty(pipeline)
  const after = cpuNow(ground, pipeline)
  const rows = await countRows(ground, pipeline.table)
  if (rows !== result.acked) throw new Error(`${result.acked} heartbeats were acknowledged but ${rows} rows are there`)
  return {
    ...result,
    rows,
    persistedPerSecond: rows / ((emptyAt - result.startedAt) / 1000),
    cpu: perHeartbeat(before.cpu, after, rows),
    others: othersBetween(before, loaded, result.cpuShare)
  }
}

/** The middle one of the values; of an even number the lower middle, so that it is one that was measured. */
export function median<T>(values: readonly T[], by: (value: T) => number): T {
  const sorted = values.toSorted((a, b) => by(a) - by(b))
  const middle = sorted[Math.floor((sorted.length - 1) / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  return middle
}
