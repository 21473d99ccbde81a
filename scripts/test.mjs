// Starts the stores, runs the test files by tap, tells what failed and ends with the line "N passed, N failed".
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createTally } from './tap-tally.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const TAP = join(root, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs')

/** Test files under a path, relative to the root. */
function testFiles(path) {
  if (!statSync(path).isDirectory()) return [relative(root, path)]
  return readdirSync(path, { recursive: true })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => relative(root, join(path, name)))
    .sort()
}

function chosenFiles(names) {
  if (names.length === 0) return testFiles(join(root, 'test'))
  return [...new Set(names.flatMap((name) => testFiles(resolve(name))))]
}

/** Resolves to the stores' addresses and how to stop them; rejects when they cannot start. */
function startStores() {
  return new Promise((resolveStores, reject) => {
    const child = spawn(process.execPath, ['--import', 'tsx', 'test/support/services.ts'], {
      cwd: root,
      stdio: ['pipe', 'pipe', 'inherit'],
      // A group of its own: Ctrl-C must not stop the stores before the tests.
      detached: true
    })
    const ended = new Promise((resolveEnd) => child.on('close', resolveEnd))
    const stop = () => {
      child.stdin.end()
      return ended
    }
    createInterface({ input: child.stdout }).once('line', (line) => resolveStores({ env: JSON.parse(line), stop }))
    void ended.then((code) => reject(new Error(`The stores for the tests could not start (exit code ${code}).`)))
  })
}

/**
 * After an installation tap has to be put together without the plugin that .taprc leaves out. Left to the first run it does so
 * too late for itself: that run then type-checks every file, and takes several times as long.
 */
function buildTap() {
  const stamp = join(root, 'node_modules', '.pulsegate-tap')
  if (existsSync(stamp)) return
  if (spawnSync(process.execPath, [TAP, 'build'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }).status !== 0) {
    throw new Error('tap could not be put together: the lines above say why.')
  }
  writeFileSync(stamp, '')
}

/** Runs tap over the files; resolves to its exit code. */
function runTap(files, env, tally) {
  const child = spawn(process.execPath, [TAP, 'run', '--reporter=tap', ...files], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    // A group, because tap does not pass signals on to the files it runs.
    detached: true
  })
  createInterface({ input: child.stdout }).on('line', tally.read)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.kill(-child.pid, 'SIGKILL'))
  return new Promise((resolveCode) => child.on('close', (code) => resolveCode(code ?? 1)))
}

async function main() {
  const files = chosenFiles(process.argv.slice(2))
  buildTap()
  const tally = createTally(files, (text) => console.log(text))
  const stores = await startStores()
  const code = await runTap(files, stores.env, tally).finally(stores.stop)
  const { passed, failed, skipped } = tally.end()
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exitCode = failed > 0 ? 1 : code
}

main().catch((error) => {
  console.error(error.message)
  console.log('0 passed, 1 failed')
  process.exitCode = 1
})
