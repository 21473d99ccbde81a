import { join } from 'node:path'
import { StartupError } from '../shared/env.ts'
import { startChild } from './child.ts'
import type { LocalConfig } from './config.ts'
import { type Kept, keepRunning } from './keep-running.ts'
import type { Register } from './leftovers.ts'
import { startPostgres } from './postgres.ts'
import { startRedis } from './redis.ts'
import type { Say } from './say.ts'
import type { Store, StoreLog, StoreOptions } from './store.ts'

/** What runs on one data folder, by the order in which it is stopped. */
export interface Scene {
  config: LocalConfig
  say: Say
  register: Register
  distDir: string
  /** Aborted when the stop begins. */
  stopping: AbortSignal
  agents: Kept[]
  edges: Kept[]
  workers: Kept[]
  stores: Kept[]
  /** Worth a line for the operator when all is ready. */
  notes: string[]
}

/** The exit code by which a process says that its configuration is wrong: starting it again is pointless. */
const EX_CONFIG = 78

function storeLog(say: Say, name: string): StoreLog {
  const { known } = say.process(name)
  return { info: (_fields, line) => known('info', line), warn: (_fields, line) => known('warn', line) }
}

async function keepStore<S extends Store>(
  scene: Scene,
  name: string,
  start: (options: StoreOptions) => Promise<S>
): Promise<S> {
  const { config, say, stopping } = scene
  const log = storeLog(say, name)
  let port: number | undefined
  const { kept, first } = await keepRunning({
    name,
    say,
    start: async (ending) => {
      const signal = AbortSignal.any([ending, stopping])
      const store = await start({ dataDir: config.DATA_DIR, log, signal, ...(port === undefined ? {} : { port }) })
      // The processes have its address: it comes back there and nowhere else.
      port = store.port
      return store
    }
  })
  scene.stores.push(kept)
  return first
}

/** Starts the stores whose addresses are not set. */
export async function startStores(scene: Scene): Promise<{ databaseUrl: string; redisUrl: string }> {
  const { DATABASE_URL, REDIS_URL } = scene.config
  const postgres = async () => {
    if (DATABASE_URL !== undefined) return DATABASE_URL
    const { url, movedTo } = await keepStore(scene, 'postgres', startPostgres)
    if (movedTo !== undefined) scene.notes.push(`The database lies in ${movedTo.dir}, because ${movedTo.why}.`)
    return url
  }
  const redis = async () => REDIS_URL ?? (await keepStore(scene, 'redis', startRedis)).url
  // Both are awaited even when one fails: a store that starts meanwhile must be known to be stopped.
  const [database, queue] = await Promise.allSettled([postgres(), redis()])
  if (database.status === 'rejected') throw database.reason
  if (queue.status === 'rejected') throw queue.reason
  return { databaseUrl: database.value, redisUrl: queue.value }
}

/** Brings the schema up to date, as `release` does in production. Throws StartupError. */
export async function migrate(scene: Scene, env: NodeJS.ProcessEnv): Promise<void> {
  const say = scene.say.process('release')
  const child = startChild({ script: join(scene.distDir, 'scripts/migrate.js'), env, say })
  scene.stopping.addEventListener('abort', child.kill, { once: true })
  const { code } = await child.exited
  // Its number may soon be another process's.
  scene.stopping.removeEventListener('abort', child.kill)
  scene.stopping.throwIfAborted()
  if (code !== 0) throw new StartupError('The database could not be migrated: the lines above say why.')
}

export interface ProcessOptions {
  name: string
  script: string
  env: NodeJS.ProcessEnv
  /** Called when it says that its configuration is wrong; true: do not start it again. */
  refused?: () => boolean
}

/** Starts a process of ours and keeps it running. */
export async function keepProcess(scene: Scene, options: ProcessOptions): Promise<Kept> {
  const { name, script, env } = options
  const say = scene.say.process(name)
  const { kept } = await keepRunning({
    name,
    say: scene.say,
    start: async () => {
      const child = startChild({ script, env, say })
      scene.register.add(name, child.pid)
      return child
    },
    giveUp: ({ code }) => code === EX_CONFIG && (options.refused?.() ?? false)
  })
  return kept
}
