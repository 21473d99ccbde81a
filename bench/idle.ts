import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadPlan } from './load-plan.ts'
import { planFor } from './measure.ts'
import { type Pipeline, startOurPipeline } from './pipelines.ts'
import { type BenchProcess, memoryOf, startProcess } from './processes.ts'
import type { Ground } from './setup.ts'

export interface IdleMemory {
  connections: number
  /** Bytes of the gateway's memory in use that one connection more costs. */
  perConnection: number
  /** Bytes of the gateway's resident memory with all connections just opened, garbage included. */
  resident: number
  /** Connections opened a second: upgrade, authentication, hello, welcome. */
  openedPerSecond: number
}

const CONNECTIONS = 10_000
/**
 * Memory is compared between this many connections and all of them: by then code is compiled and the young generation of
 * the heap has its full size, whatever the connections, so that what is left is the connections themselves.
 */
const FIRST = 2000
const SETTLE_MS = 3000
/** Lets the bench ask the gateway for a garbage collection, which no process does by itself while it idles. */
const COLLECT_ON_SIGNAL = [
  '--expose-gc',
  '--import',
  'data:text/javascript,process.on("SIGUSR2",()=>{globalThis.gc();globalThis.gc()})'
]

function readMetric(text: string, name: string): number {
  const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]
  if (value === undefined) throw new Error(`the gateway tells no ${name}`)
  return Number(value)
}

/**
 * Bytes in use after a garbage collection: resident memory less the empty part of the JavaScript heap, which V8 gives back
 * to the system only after 10 to 40 idle seconds.
 */
async function memoryInUse({ gateway, metricsUrl }: Pipeline): Promise<number> {
  await sleep(SETTLE_MS)
  process.kill(gateway.pid, 'SIGUSR2')
  await sleep(SETTLE_MS)
  const metrics = await (await fetch(metricsUrl ?? '')).text()
  const empty = readMetric(metrics, 'nodejs_heap_size_total_bytes') - readMetric(metrics, 'nodejs_heap_size_used_bytes')
  return memoryOf(gateway.pid) - empty
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
    const before = await memoryInUse(pipeline)
    const rest = openIdle(ground, pipeline, FIRST, CONNECTIONS - FIRST)
    generators.push(rest)
    const { milliseconds } = await rest.event<{ milliseconds: number }>('connected')
    const resident = memoryOf(pipeline.gateway.pid)
    const after = await memoryInUse(pipeline)
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
