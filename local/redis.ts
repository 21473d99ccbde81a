import { randomBytes } from 'node:crypto'
import { mkdirSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readIfThere, readOrCreate, replaceFile } from '../shared/kept-file.ts'
import { findRedis } from './find-redis.ts'
import { chooseStorePort } from './ports.ts'
import { commandLine, endLeftover } from './process-identity.ts'
import { dyingWithParent, runStore, type Store, type StoreOptions, type StoreRules } from './store.ts'

const RULES: StoreRules = {
  name: 'redis',
  deathSignal: 'SIGTERM',
  stopSignals: ['SIGTERM', 'SIGKILL'],
  // '#' marks greetings as well as trouble. Overcommit matters to forks of big instances only, and a user cannot change it.
  isWarning: (line) =>
    / # .*(warning|error|fail|can't|short read|truncat|fatal|no space)/i.test(line) && !/overcommit/.test(line)
}

// A file and not arguments: arguments, the password among them, are readable by every user of the machine.
function configuration(dir: string, port: number, password: string): string {
  return [
    `port ${port}`,
    'bind 127.0.0.1',
    `requirepass ${password}`,
    `dir ${JSON.stringify(dir)}`,
    `pidfile ${JSON.stringify(join(dir, 'redis.pid'))}`,
    'daemonize no',
    'appendonly yes',
    'appendfsync always',
    'save ""',
    'maxmemory-policy noeviction',
    // The kernel's usual somaxconn of old; a higher one only brings a warning where it is small.
    'tcp-backlog 128',
    ''
  ].join('\n')
}

// Redis changes its title to "redis-server 127.0.0.1:<port>", so the port tells ours from another's.
async function clearLeftover(dir: string, log: StoreOptions['log']): Promise<void> {
  const pidFile = join(dir, 'redis.pid')
  const pid = Number(readIfThere(pidFile))
  const port = readIfThere(join(dir, 'port'))?.trim()
  if (!Number.isInteger(pid) || pid <= 0 || port === undefined) return
  const command = commandLine(pid) ?? ''
  if (/redis|valkey/.test(command) && (command.includes(`:${port}`) || command.includes(dir))) {
    log.warn({ store: 'redis', pid }, `stopping the Redis (pid ${pid}) that an earlier start left behind`)
    await endLeftover(pid, 'SIGTERM', 3_000)
  }
  rmSync(pidFile, { force: true })
}

/**
 * Starts the embedded Redis of a data folder: every write is on the disk before it is answered, nothing is evicted.
 * `settings`: more lines of its configuration, which win over ours.
 * Rejects with one sentence when there is no Redis binary, else with what it printed.
 */
export async function startRedis(options: StoreOptions, settings: readonly string[] = []): Promise<Store> {
  mkdirSync(options.dataDir, { recursive: true })
  const binary = findRedis(options.dataDir)
  const dir = join(realpathSync(options.dataDir), 'redis')
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const password = readOrCreate(join(dir, 'password'), () => randomBytes(24).toString('hex'))
  await clearLeftover(dir, options.log)
  const port = await chooseStorePort(join(dir, 'port'), options.port)
  const file = join(dir, 'redis.conf')
  replaceFile(file, `${configuration(dir, port, password)}${settings.map((line) => `${line}\n`).join('')}`)
  const command = dyingWithParent({ ...binary, args: [file] }, RULES.deathSignal)
  const running = await runStore(command, RULES, options)
  return { ...running, url: `redis://:${password}@127.0.0.1:${port}`, port }
}
