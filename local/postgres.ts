import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EMBEDDED_DATABASE } from '../shared/embedded-stores.ts'
import { readIfThere, readOrCreate } from '../shared/kept-file.ts'
import { chooseStorePort } from './ports.ts'
import { choosePlace, type PostgresPlace } from './postgres-place.ts'
import { commandLine, endLeftover } from './process-identity.ts'
import {
  type Command,
  dyingWithParent,
  runStore,
  type Store,
  type StoreOptions,
  type StoreRules,
  spawnOptions
} from './store.ts'

export interface PostgresOptions extends StoreOptions {
  /** For tests: nothing is forced to the disk, so a power cut may destroy the database. */
  fast?: boolean
}

/** An embedded PostgreSQL; `movedTo` says where its files are when not in the data folder, and why. */
export interface Postgres extends Store {
  movedTo?: { dir: string; why: string }
}

const RULES: StoreRules = {
  name: 'postgres',
  deathSignal: 'SIGINT',
  // "Fast", then "immediate" (a crash recovery at the next start, nothing lost), then the end.
  stopSignals: ['SIGINT', 'SIGQUIT', 'SIGKILL'],
  // FATAL is said to each client that a stop sends away, ERROR of each duplicate a COPY meets: neither is news.
  isWarning: (line) => /\b(WARNING|PANIC): /.test(line)
}

const SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '256MB',
  max_wal_size: '2GB',
  min_wal_size: '256MB',
  // pglz: the shipped binary has neither lz4 nor zstd.
  wal_compression: 'pglz',
  checkpoint_timeout: '15min',
  checkpoint_completion_target: '0.9',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // A statement may hold people's data; its error alone is logged.
  log_min_error_statement: 'panic'
}

const FAST_SETTINGS: Record<string, string> = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  shared_buffers: '128MB',
  max_connections: '300'
}

/** Runs a short-lived command to its end. Rejects with what it printed when it fails. */
async function runToEnd(command: Command, stdin: string): Promise<void> {
  const child = spawn(command.file, command.args, { ...spawnOptions(command), stdio: ['pipe', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  // It may end without reading its input (EPIPE); its exit code and output then say why.
  child.stdin.on('error', (error) => {
    output += `${error.message}\n`
  })
  child.stdin.end(stdin)
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0)
    throw new Error(`${command.args.find((arg) => arg.includes('/bin/')) ?? command.file} failed:\n${output.trim()}`)
}

// Made beside its place and renamed: a start that was cut short leaves no half-made database behind.
async function createCluster(place: PostgresPlace, passwordFile: string, fast: boolean): Promise<void> {
  const draft = join(place.dir, 'data.partial')
  rmSync(draft, { recursive: true, force: true })
  const sync = fast ? ['--no-sync'] : []
  const identity = ['-U', 'postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`]
  // The built-in provider sorts alike on every machine, whatever its C library knows.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const args = ['-D', draft, ...identity, ...locale, ...sync, '--no-instructions']
  await runToEnd(place.asUser({ file: place.initdb, args }), '')
  const single = ['--single', '-D', draft, ...(fast ? ['-F'] : []), 'postgres']
  await runToEnd(place.asUser({ file: place.postgres, args: single }), `create database ${EMBEDDED_DATABASE};\n`)
  renameSync(draft, join(place.dir, 'data'))
}

// A container that starts again may give the pid of the old postmaster to another process: Postgres then refuses.
async function clearLeftover(data: string, log: StoreOptions['log']): Promise<void> {
  const pidFile = join(data, 'postmaster.pid')
  const pid = Number(readIfThere(pidFile)?.split('\n')[0])
  if (!Number.isInteger(pid) || pid <= 0) return
  if (!`${commandLine(pid) ?? ''} `.includes(`-D ${data} `)) {
    rmSync(pidFile, { force: true })
    return
  }
  log.warn({ store: 'postgres', pid }, `stopping the PostgreSQL (pid ${pid}) that an earlier start left behind`)
  await endLeftover(pid, 'SIGINT', 3_000)
}

function serverCommand(place: PostgresPlace, data: string, port: number, fast: boolean): Command {
  const settings = { ...SETTINGS, ...(fast ? FAST_SETTINGS : {}) }
  const pairs = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const args = ['-D', data, '-p', String(port), ...pairs]
  return place.asUser(dyingWithParent({ file: place.postgres, args }, RULES.deathSignal))
}

// After a killed postmaster its backends live on for a moment and hold the shared memory.
const GOES_AWAY = /pre-existing shared memory block|lock file "postmaster.pid" already exists/

async function startPatiently(command: Command, options: StoreOptions) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await runStore(command, RULES, options)
    } catch (error) {
      if (tries === 20 || !(error instanceof Error && GOES_AWAY.test(error.message))) throw error
      await sleep(250)
    }
  }
}

/**
 * Starts the embedded PostgreSQL of a data folder, making its cluster and the database `pulsegate` the first time.
 * Rejects with one sentence where no PostgreSQL can run here, else with what it printed.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { log, fast = false } = options
  mkdirSync(options.dataDir, { recursive: true })
  const place = await choosePlace(realpathSync(options.dataDir))
  const data = join(place.dir, 'data')
  const passwordFile = join(place.dir, 'password')
  const password = readOrCreate(passwordFile, () => randomBytes(24).toString('hex'))
  place.own?.(passwordFile)
  if (!existsSync(data)) {
    log.info({ store: 'postgres', dir: data }, 'making a PostgreSQL database')
    await createCluster(place, passwordFile, fast)
  }
  await clearLeftover(data, log)
  const port = await chooseStorePort(join(place.dir, 'port'), options.port)
  const running = await startPatiently(serverCommand(place, data, port, fast), options)
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/${EMBEDDED_DATABASE}`
  const why = place.movedBecause
  return { ...running, url, port, ...(why === undefined ? {} : { movedTo: { dir: place.dir, why } }) }
}
