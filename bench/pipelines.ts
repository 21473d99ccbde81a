import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openQueue } from '../shared/queue.ts'
import type { BareSettings } from './bare-settings.ts'
import { freePort } from './free-port.ts'
import { type BenchProcess, startProcess } from './processes.ts'
import type { Ground } from './setup.ts'

/** A gateway and a worker with a queue and a table of their own: ours, or the bare one beside it. */
export interface Pipeline {
  readonly name: 'ours' | 'bare'
  readonly table: 'heartbeats' | 'bare_heartbeats'
  readonly gateway: BenchProcess
  readonly port: number
  /** The certificate to trust, or null where sockets are plain. */
  readonly caFile: string | null
  /** Where the gateway tells its metrics; null for the bare one. */
  readonly metricsUrl: string | null
  /** Null while it is stopped. */
  worker(): BenchProcess | null
  startWorker(): Promise<BenchProcess>
  stopWorker(): Promise<void>
  /** Jobs that are not done yet. */
  queued(): Promise<number>
  /** Jobs that the worker has taken and not done yet. */
  active(): Promise<number>
  stop(): Promise<void>
}

interface Parts {
  name: Pipeline['name']
  table: Pipeline['table']
  prefix: string
  gateway: BenchProcess
  port: number
  caFile: string | null
  metricsUrl: string | null
  start(): Promise<BenchProcess>
}

const READY_MS = 20_000
const POLL_MS = 50

async function assemble(ground: Ground, parts: Parts): Promise<Pipeline> {
  const { name, table, gateway, port, caFile, metricsUrl, start } = parts
  const queue = openQueue({ redis: ground.redis, prefix: parts.prefix, shards: 1 })
  let worker: BenchProcess | null = await start()
  return {
    name,
    table,
    gateway,
    port,
    caFile,
    metricsUrl,
    worker: () => worker,
    async startWorker() {
      worker ??= await start()
      return worker
    },
    async stopWorker() {
      await worker?.stop()
      worker = null
    },
    async queued() {
      const { waiting, active, delayed, failed } = await queue.counts()
      if (failed > 0) throw new Error(`${failed} jobs of the ${name} pipeline failed`)
      return waiting + active + delayed
    },
    active: async () => (await queue.counts()).active,
    async stop() {
      await Promise.all([gateway.stop(), worker?.stop()])
      await queue.stop()
    }
  }
}

export async function startBarePipeline(ground: Ground): Promise<Pipeline> {
  const prefix = 'bare'
  const settings: BareSettings = {
    redisUrl: ground.redisUrl,
    databaseUrl: ground.databaseUrl,
    prefix,
    fleetFile: ground.fleetFile
  }
  const args = [JSON.stringify(settings)]
  const gateway = startProcess('bare gateway', './bare-gateway.js', args, ground.childEnv)
  const { port } = await gateway.event<{ port: number }>('ready')
  return assemble(ground, {
    name: 'bare',
    table: 'bare_heartbeats',
    prefix,
    gateway,
    port,
    caFile: null,
    metricsUrl: null,
    async start() {
      const worker = startProcess('bare worker', './bare-worker.js', args, ground.childEnv)
      await worker.event('ready')
      return worker
    }
  })
}

export async function untilReady(child: BenchProcess, adminPort: number): Promise<void> {
  const deadline = Date.now() + READY_MS
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${adminPort}/readyz`).catch(() => null)
    if (answer?.ok) return
    if (child.ended() || Date.now() > deadline) throw new Error(`${child.name} did not become ready`)
    await sleep(POLL_MS)
  }
}

export interface OurOptions {
  /** `proxy`: plain sockets, as behind a proxy that ends TLS. */
  tlsMode: 'proxy' | 'direct'
  /** For the gateway's Node, before its script. */
  gatewayNodeArgs?: readonly string[]
  /** False: a queue of its own, and a worker that leaves states alone. */
  states?: boolean
}

/** The product's own processes as an operator runs them, with every setting at its standard. */
export async function startOurPipeline(
  ground: Ground,
  { tlsMode, gatewayNodeArgs, states = true }: OurOptions
): Promise<Pipeline> {
  const [ingestPort, gatewayAdmin, workerAdmin] = [await freePort(), await freePort(), await freePort()]
  const prefix = states ? 'pulsegate' : 'pulsegate-rows'
  const env = {
    ...ground.childEnv,
    DATABASE_URL: ground.databaseUrl,
    REDIS_URL: ground.redisUrl,
    REDIS_PREFIX: prefix,
    SECRETS_KEY: ground.secretsKey,
    DATA_DIR: ground.dir,
    TLS_MODE: tlsMode,
    INGEST_PORT: String(ingestPort),
    GATEWAY_ADMIN_PORT: String(gatewayAdmin),
    WORKER_ADMIN_PORT: String(workerAdmin),
    PULSEGATE_PARENT_PIPE: '1'
  }
  const script = states ? '../worker/main.js' : './worker-without-states.js'
  const gateway = startProcess('gateway', '../gateway/main.js', [], env, gatewayNodeArgs)
  await untilReady(gateway, gatewayAdmin)
  return assemble(ground, {
    name: 'ours',
    table: 'heartbeats',
    prefix,
    gateway,
    port: ingestPort,
    caFile: tlsMode === 'direct' ? join(ground.dir, 'tls', 'ca.pem') : null,
    metricsUrl: `http://127.0.0.1:${gatewayAdmin}/metrics`,
    async start() {
      const worker = startProcess('worker', script, [], env)
      await untilReady(worker, workerAdmin)
      return worker
    }
  })
}
