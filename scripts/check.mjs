// Every check that needs no running service, all at once. Prints what failed; exit 1 if anything did.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const FOLDERS = ['gateway', 'api', 'worker', 'shared', 'agent', 'local', 'test', 'bench', 'scripts', 'dashboard']
/** Without its TypeScript parser dependency-cruiser finds no module, no violation and is content. */
const FEWEST_MODULES = 20

/** Resolves to the child's output and exit code; never rejects. */
function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    child.on('error', (error) => resolve({ code: 1, output: `${command}: ${error.message}` }))
    child.on('close', (code) => resolve({ code: code ?? 1, output }))
  })
}

const tool = (name, args) => run(join(root, 'node_modules', '.bin', name), args)

async function importRules() {
  const present = FOLDERS.filter((folder) => existsSync(join(root, folder)))
  const { code, output } = await tool('depcruise', ['--config', '.dependency-cruiser.cjs', '--', ...present])
  const modules = Number(/\((\d+) modules/.exec(output)?.[1] ?? 0)
  if (code === 0 && modules < FEWEST_MODULES) return { code: 1, output: `only ${modules} modules were read\n${output}` }
  return { code, output }
}

function lockfile() {
  const named = readFileSync(join(root, 'package-lock.json'), 'utf8').match(/"resolved": .*/g) ?? []
  if (named.length === 0) return { code: 0, output: '' }
  return {
    code: 1,
    output: `package-lock.json names ${named.length} registry addresses, such as ${named[0]}; install with the .npmrc of this project`
  }
}

async function generatedFiles() {
  if (!existsSync(join(root, 'scripts', 'generate.ts'))) return { code: 0, output: '' }
  return run(process.execPath, ['--import', 'tsx', 'scripts/generate.ts', '--check'])
}

const checks = {
  types: () => tool('tsc', ['--noEmit', '--incremental', 'false', '--project', '.']),
  'format and lint': () => tool('biome', ['check', '--error-on-warnings', '--max-diagnostics=50', '.']),
  'import rules': importRules,
  'generated files': generatedFiles,
  lockfile
}

const started = performance.now()
const results = await Promise.all(Object.entries(checks).map(async ([name, check]) => ({ name, ...(await check()) })))
for (const { name, code, output } of results) {
  if (code !== 0) console.log(`${output.trim()}\n`)
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name}`)
}
console.log(`${((performance.now() - started) / 1000).toFixed(1)} s`)
process.exitCode = results.some(({ code }) => code !== 0) ? 1 : 0
