import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StartupError } from '../shared/env.ts'
import type { LocalConfig } from './config.ts'
import { lockDataDir } from './data-lock.ts'
import {
  type Addresses,
  chooseAddresses,
  chooseSecretsKey,
  chooseTls,
  environmentOf,
  makeDataDir,
  type Tls
} from './installation.ts'
import type { Kept } from './keep-running.ts'
import { createRegister, endLeftovers } from './leftovers.ts'
import type { Say } from './say.ts'
import { keepProcess, migrate, type Scene, startStores } from './scene.ts'
import { waitUntilReady } from './wait-until-ready.ts'

const AGENT = 'agent'
const EDGES = ['gateway', 'api'] as const
const WORKER = 'worker'

// All within 10 s: the agent's last acks, the gateway's drain (5 s) and flush, the worker's transaction, the stores' writes.
const STOP_MS = 9_600
const AGENT_STOP_MS = 1_500
const EDGES_STOP_MS = 6_200
const LONGEST_DRAIN_SECONDS = 5
const STORES_STOP_MS = 2_000
const WORKER_LEAST_MS = 1_000

/** An installation that is up. */
export interface Installation {
  addresses: Addresses
  tls: Tls
  /** Each worth a line for the operator. */
  notes: string[]
  /** Starts an agent (`<distDir>/agent/main.js`) beside it, kept running like the rest. */
  addAgent(env: Record<string, string>): Promise<void>
}

export interface Supervisor {
  /** To be called once. Resolves when everything is ready; rejects with StartupError or what went wrong. */
  start(): Promise<Installation>
  /** Ends everything in order within 10 s, whatever state the start is in. */
  stop(): Promise<void>
  /** Ends everything at once. */
  kill(): void
}

interface Options {
  config: LocalConfig
  say: Say
  /** Where `<process>/main.js` lie; by default beside this file's folder. */
  distDir?: string
}

function stopAll(kept: readonly Kept[], withinMs: number): Promise<unknown> {
  return Promise.all(kept.map((one) => one.stop(withinMs)))
}

async function stopInOrder(scene: Scene): Promise<void> {
  const began = Date.now()
  const left = (reserveMs: number) => Math.max(STOP_MS - reserveMs - (Date.now() - began), WORKER_LEAST_MS)
  await stopAll(scene.agents, AGENT_STOP_MS)
  await stopAll(scene.edges, Math.min(EDGES_STOP_MS, left(STORES_STOP_MS + WORKER_LEAST_MS)))
  await stopAll(scene.workers, left(STORES_STOP_MS))
  await stopAll(scene.stores, STORES_STOP_MS)
}

/** A gateway that drains for longer than it may take to stop would be killed before it has said good-bye to its agents. */
function withDrainInTime(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Number(env.DRAIN_SECONDS) > LONGEST_DRAIN_SECONDS
    ? { ...env, DRAIN_SECONDS: String(LONGEST_DRAIN_SECONDS) }
    : env
}

async function bringUp(scene: Scene): Promise<Installation> {
  const { config, say, distDir, stopping } = scene
  await endLeftovers(config.DATA_DIR, [...EDGES, WORKER, AGENT], say)
  const addresses = await chooseAddresses(config)
  const secretsKey = chooseSecretsKey(config)
  const [tls, urls] = await Promise.all([chooseTls(config, addresses), startStores(scene)])
  const env = withDrainInTime(environmentOf(config, { addresses, secretsKey, ...urls }))
  stopping.throwIfAborted()
  await migrate(scene, env)

  const waiting = new AbortController()
  const signal = AbortSignal.any([stopping, waiting.signal])
  let starting = true
  const keep = (name: string) =>
    keepProcess(scene, {
      name,
      script: join(distDir, name, 'main.js'),
      env,
      refused: () => {
        if (!starting) return false
        waiting.abort(new StartupError(`The ${name} cannot start: the line above says why.`))
        return true
      }
    })
  for (const name of EDGES) scene.edges.push(await keep(name))
  scene.workers.push(await keep(WORKER))
  await waitUntilReady({
    port: addresses.ports.API_PORT,
    secure: config.TLS_MODE === 'direct',
    progress: (missing) => say.line('warn', `still waiting for ${missing}`),
    signal
  })
  starting = false
  return {
    addresses,
    tls,
    notes: scene.notes,
    addAgent: async (more) => {
      const script = join(distDir, AGENT, 'main.js')
      scene.agents.push(await keepProcess(scene, { name: AGENT, script, env: { ...config.environment, ...more } }))
    }
  }
}

/**
 * The supervisor of one data folder: real stores and the processes as its children, each started again when it ends.
 * Throws StartupError when the folder cannot be made or another supervisor has it.
 */
export function createSupervisor({ config, say, distDir }: Options): Supervisor {
  makeDataDir(config.DATA_DIR)
  const lock = lockDataDir(config.DATA_DIR)
  const stopping = new AbortController()
  const scene: Scene = {
    config,
    say,
    register: createRegister(config.DATA_DIR),
    distDir: distDir ?? dirname(dirname(fileURLToPath(import.meta.url))),
    stopping: stopping.signal,
    agents: [],
    edges: [],
    workers: [],
    stores: [],
    notes: []
  }
  let bringingUp: Promise<Installation> | undefined
  return {
    start: () => {
      bringingUp = bringUp(scene)
      return bringingUp
    },
    stop: async () => {
      stopping.abort()
      // Its failure was told to whoever called start(); here it only matters that nothing more is started.
      await bringingUp?.catch(() => undefined)
      await stopInOrder(scene)
      lock.release()
    },
    kill: () => {
      stopping.abort()
      for (const kept of [...scene.agents, ...scene.edges, ...scene.workers, ...scene.stores]) kept.kill()
      lock.release()
    }
  }
}
