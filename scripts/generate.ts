import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { buildAsyncApi } from '../shared/contract/asyncapi.ts'
import { buildOpenApi } from '../shared/contract/openapi.ts'
import { VERSION } from '../shared/contract/version.ts'
import { withPermissionTable } from './permission-table.ts'
import { protocolPage } from './protocol-page.ts'

/** Files of docs/ that are made from the schemas, or hold a part that is, and how. */
const FILES: Record<string, () => string> = {
  'docs/api.md': () => withPermissionTable(readFileSync(pathOf('docs/api.md'), 'utf8')),
  'docs/openapi.json': () => `${JSON.stringify(buildOpenApi('https://localhost:8443'), null, 2)}\n`,
  'docs/asyncapi.json': () => `${JSON.stringify(buildAsyncApi('wss://localhost:8444'), null, 2)}\n`,
  'docs/protocol.md': protocolPage
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../${name}`, import.meta.url))
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** What is wrong, as sentences. */
function faults(): string[] {
  const stale = Object.entries(FILES)
    .filter(([name, make]) => readIfThere(pathOf(name)) !== make())
    .map(([name]) => `${name} is not what the schemas say; run: npm run generate`)
  const { version } = JSON.parse(readFileSync(pathOf('package.json'), 'utf8')) as { version: string }
  if (version !== VERSION) stale.push(`shared/contract/version.ts says ${VERSION}, package.json says ${version}`)
  return stale
}

if (process.argv.includes('--check')) {
  const found = faults()
  for (const fault of found) console.log(fault)
  process.exitCode = found.length === 0 ? 0 : 1
} else {
  for (const [name, make] of Object.entries(FILES)) {
    writeFileSync(pathOf(name), make())
    console.log(`wrote ${name}`)
  }
}
