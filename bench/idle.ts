import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadPlan } from './load-plan.ts'
import { planFor } from './measure.ts'
import { type Pipeline, startOurPipeline } from './pipelines.ts'
import { type BenchProcess, memoryOf, startProcess } from './processes.ts'
import type { Ground } from './setup.ts'

export interface IdleMemory {
  connections: number
  /** Bytes of the gateway's resident memory that one connection more costs, garbage collected before each reading. */
  perConnection: number
  /** Bytes of the gateway's resident memory with all connections open, garbage included. */
  resident: number
  /** Connections opened a second: upgrade, authentication, hello, welcome. */
  openedPerSecond: number
}

const CONNECTIONS = 10_000
/**
 * Memory is compared between this many connections and all of them: by then code is compiled and the young generation of
 * the heap has its full size (up to 48 MiB, whatever the connections), so that what is left is the connections themselves.
 */
const FIRST = 2000
const SETTLE_MS = 3000
/** Lets the bench ask the gateway for a garbage collection, which no process does by itself while it idles. */
const COLLECT_ON_SIGNAL = [
  '--expose-gc',
  '--import',
  'data:text/javascript,process.on("SIGUSR2",()=>{globalThis.gc();globalThis.gc()})'
]

async function collected(pipeline: Pipeline): Promise<number> {
  await sleep(SETTLE_MS)
  process.kill(pipeline.gateway.pid, 'SIGUSR2')
  await sleep(SETTLE_MS)
  return memoryOf(pipeline.gateway.pid)
}

function openIdle(ground: Ground, pipeline: Pipeline, firstSender: number, connections: number): BenchProcess {
  const base = planFor(ground, pipeline, { loop: 'closed', itemsPerFrame: 1, durationMs: 0 })
  const plan: LoadPlan = { ...base, loop: 'idle', window: 1, firstSender, connections }
  return startProcess('load generator', './load-generator.js', [JSON.stringify(plan)], ground.childEnv)
}

/** What 10,000 welcomed agents that say nothing cost a gateway of their own. */
export async function measureIdleMemory(ground: Ground): Promise<IdleMemory> {
  const pipeline = await startOurPipeline(ground, { tlsMode: 'proxy', gatewayNodeArgs: COLLECT_ON_SIGNAL })
  const generators: BenchProcess[] = []
  try {
    const first = openIdle(ground, pipeline, 0, FIRST)
    generators.push(first)
    await first.event('connected')
    const before = await collected(pipeline)
    const rest = openIdle(ground, pipeline, FIRST, CONNECTIONS - FIRST)
    generators.push(rest)
    const { milliseconds } = await rest.event<{ milliseconds: number }>('connected')
    const resident = memoryOf(pipeline.gateway.pid)
    const after = await collected(pipeline)
    return {
      connections: CONNECTIONS,
      perConnection: (after - before) / (CONNECTIONS - FIRST),
      resident,
      openedPerSecond: (CONNECTIONS - FIRST) / (milliseconds / 1000)
    }
  } finally {
    await Promise.all(generators.map((generator) => generator.stop()))
    await pipeline.stop()
  }
}
