import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StartupError } from '../shared/env.ts'
import { readIfThere } from '../shared/kept-file.ts'

export interface RedisBinary {
  file: string
  env: Record<string, string>
}

const NAMES = ['redis-server', 'valkey-server']
const NEEDS = [6, 2] as const

/** `Redis server v=7.0.15 sha=…` or `Valkey server v=8.1.0 sha=…`, as numbers. */
function versionOf(binary: RedisBinary): [number, number] | undefined {
  const { stdout, status } = spawnSync(binary.file, ['--version'], { encoding: 'utf8', env: binary.env })
  const found = status === 0 ? /\bv=(\d+)\.(\d+)/.exec(stdout) : null
  return found === null ? undefined : [Number(found[1]), Number(found[2])]
}

function isNewEnough(binary: RedisBinary): boolean {
  const [major, minor] = versionOf(binary) ?? [0, 0]
  return major > NEEDS[0] || (major === NEEDS[0] && minor >= NEEDS[1])
}

function onPath(name: string): RedisBinary | undefined {
  const file = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim()
  return file === '' ? undefined : { file, env: {} }
}

/** The binary that scripts/redis-binary.mjs unpacked: `redis.json` beside it says with which library path it runs. */
function unpacked(dataDir: string): RedisBinary | undefined {
  const dir = join(dataDir, 'bin', 'redis')
  const text = readIfThere(join(dir, 'redis.json'))
  if (text === undefined) return undefined
  const { server, libraries } = JSON.parse(text) as { server: string; libraries: string[] }
  const env = { LD_LIBRARY_PATH: libraries.map((path) => join(dir, path)).join(':') }
  return { file: join(dir, server), env }
}

/** The folder that holds package.json, from local/ as well as from dist/local/. */
function projectDir(): string {
  let dir = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(dir, 'package.json')) && dirname(dir) !== dir) dir = dirname(dir)
  return dir
}

/**
 * A Redis or Valkey of 6.2 or newer: from PATH, else unpacked in `dataDir` or in the project's own data folder (so that
 * every test's own folder need not hold one). Throws one sentence when there is none.
 */
export function findRedis(dataDir: string): RedisBinary {
  const places = [...NAMES.map(onPath), unpacked(dataDir), unpacked(join(projectDir(), '.data'))]
  const found = places.find((binary) => binary !== undefined && isNewEnough(binary))
  if (found !== undefined) return found
  throw new StartupError(
    'No Redis 6.2 or newer was found: start with npm start, which fetches one where apt-get can, install redis-server or valkey-server (on macOS: brew install redis), or set REDIS_URL.'
  )
}
