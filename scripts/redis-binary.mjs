// Gets a Redis binary for the embedded default without installing anything: Debian's package, unpacked into the data folder.
// Plain JavaScript without dependencies: it runs before anything is installed or built.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

// What redis-tools of Debian 12 links against; used where apt cannot work out the list itself.
const USUAL_PACKAGES = ['redis-tools', 'libatomic1', 'libjemalloc2', 'liblzf1', 'libssl3', 'libstdc++6']
const ADVICE = 'Install redis-server or valkey-server 6.2 or newer (on macOS: brew install redis), or set REDIS_URL.'

function run(file, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(file, args, { encoding: 'utf8', ...options })
  return { ok: status === 0, stdout: stdout ?? '', stderr: (stderr ?? '') + (error ? error.message : '') }
}

function isUsable(text) {
  const [major, minor] = (/\bv=(\d+)\.(\d+)/.exec(text) || [0, 0, 0]).slice(1).map(Number)
  return major > 6 || (major === 6 && minor >= 2)
}

function isOnPath() {
  return ['redis-server', 'valkey-server'].some((name) => isUsable(run(name, ['--version']).stdout))
}

/** apt's own lists where they serve; else lists of ours, which need no root. */
function aptOptions(dir) {
  const own = join(dir, 'apt')
  for (const folder of ['state/lists/partial', 'cache/archives/partial'])
    mkdirSync(join(own, folder), { recursive: true })
  return [
    ['-o', `Dir::State=${join(own, 'state')}`],
    ['-o', `Dir::Cache=${join(own, 'cache')}`],
    ['-o', 'Dir::State::status=/var/lib/dpkg/status']
  ].flat()
}

/** The packages that redis-tools needs and this machine lacks. libc6 is never replaced under a running system. */
function neededPackages(options) {
  const { ok, stdout } = run('apt-get', [...options, '-s', '--no-install-recommends', 'install', 'redis-tools'])
  const names = ok ? [...stdout.matchAll(/^Inst (\S+)/gm)].map((match) => match[1]) : USUAL_PACKAGES
  return [...new Set(['redis-tools', ...names])].filter((name) => name !== 'libc6')
}

function download(dir, options) {
  const { ok, stderr } = run('apt-get', [...options, '-q', 'download', ...neededPackages(options)], { cwd: dir })
  return ok ? undefined : stderr.trim()
}

function fetchPackages(dir) {
  const asAnyone = ['-o', 'APT::Sandbox::User=']
  if (download(dir, asAnyone) === undefined) return
  const options = [...asAnyone, ...aptOptions(dir)]
  const update = run('apt-get', [...options, '-qq', 'update'])
  const failure = update.ok ? download(dir, options) : update.stderr.trim()
  if (failure !== undefined) throw new Error(`apt-get could not download Redis:\n${failure}\n${ADVICE}`)
}

function libraryFolders(root) {
  return ['usr/lib', 'lib'].flatMap((folder) => {
    const path = join(root, folder)
    const entries = existsSync(path) ? readdirSync(path, { withFileTypes: true }) : []
    const triplets = entries.filter((entry) => entry.isDirectory() && entry.name.includes('-linux-'))
    return triplets.map((entry) => join('root', folder, entry.name))
  })
}

function unpack(dir) {
  const root = join(dir, 'root')
  mkdirSync(root)
  for (const name of readdirSync(dir).filter((file) => file.endsWith('.deb'))) {
    const { ok, stderr } = run('dpkg', ['-x', join(dir, name), root])
    if (!ok) throw new Error(`dpkg could not unpack ${name}: ${stderr.trim()}`)
    rmSync(join(dir, name))
  }
  // In Debian redis-server is this link, and the package that holds the link would start a system service.
  const server = join(root, 'usr/bin/redis-server')
  if (!existsSync(server)) symlinkSync('redis-check-rdb', server)
  const libraries = libraryFolders(root)
  const env = { LD_LIBRARY_PATH: libraries.map((path) => join(dir, path)).join(':') }
  const version = run(server, ['--version'], { env })
  if (!isUsable(version.stdout)) {
    const missing = run('ldd', [server], { env })
      .stdout.split('\n')
      .filter((line) => line.includes('not found'))
    throw new Error(
      `The Redis of this machine's packages does not run here. ${[version.stderr, ...missing].join('\n').trim()}\n${ADVICE}`
    )
  }
  writeFileSync(join(dir, 'redis.json'), `${JSON.stringify({ server: 'root/usr/bin/redis-server', libraries })}\n`)
}

/**
 * Makes sure that a Redis binary can be found: on PATH or in `<dataDir>/bin/redis`. `say` is told of a download.
 * Throws one sentence with what to do.
 */
export function ensureRedisBinary(dataDir, say) {
  const target = join(resolve(dataDir), 'bin', 'redis')
  if (existsSync(join(target, 'redis.json')) || isOnPath()) return
  if (!run('apt-get', ['--version']).ok || !run('dpkg', ['--version']).ok)
    throw new Error(`There is no Redis on this machine. ${ADVICE}`)
  say(`Downloading Redis into ${target} (about 15 MB, once) …`)
  const draft = `${target}.${process.pid}`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { recursive: true })
  try {
    fetchPackages(draft)
    unpack(draft)
    rmSync(join(draft, 'apt'), { recursive: true, force: true })
    rmSync(target, { recursive: true, force: true })
    renameSync(draft, target)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  ensureRedisBinary(process.argv[2] ?? process.env.DATA_DIR ?? './.data', (line) => console.log(line))
}
