import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { type Test, test } from 'tap'
import { readConfig, readProcessConfig } from '../../agent/config.ts'

const KEY = `pga_${'s'.repeat(38)}`
const OTHER_KEY = `pgs_${'o'.repeat(38)}`
const PEM = rootCertificates[0] ?? ''

function folder(t: Test, files: Record<string, string> = {}): string {
  const path = mkdtempSync(join(tmpdir(), 'agent-'))
  t.teardown(() => rmSync(path, { recursive: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(path, name, '..'), { recursive: true })
    writeFileSync(join(path, name), text)
  }
  return path
}

test('a key is enough', async (t) => {
  const cwd = folder(t)
  const file = join(cwd, 'agent.config.json')
  t.same(readConfig({ SERVICE_API_KEY: KEY }, cwd), {
    apiKey: KEY,
    ingestUrl: 'wss://localhost:8444/',
    ca: undefined,
    file
  })
})

test('variables win over agent.config.json, and empty ones count as absent', async (t) => {
  const settings = { apiKey: OTHER_KEY, ingestUrl: 'wss://file.example.com' }
  const cwd = folder(t, { 'agent.config.json': JSON.stringify(settings), 'key.txt': `${KEY}\n` })
  const fromFile = { apiKey: OTHER_KEY, ingestUrl: 'wss://file.example.com/' }
  t.match(readConfig({}, cwd), fromFile)
  t.match(readConfig({ SERVICE_API_KEY: '', INGEST_URL: '' }, cwd), fromFile)
  t.match(readConfig({ SERVICE_API_KEY: KEY, INGEST_URL: 'ws://127.0.0.1:1' }, cwd), {
    apiKey: KEY,
    ingestUrl: 'ws://127.0.0.1:1/'
  })
  t.match(readConfig({ SERVICE_API_KEY_FILE: join(cwd, 'key.txt') }, cwd), { apiKey: KEY })
})

test('authorities are added to those of Node', async (t) => {
  const cwd = folder(t, {
    'agent.config.json': JSON.stringify({ apiKey: KEY, caFile: 'own.pem', dataDir: 'data' }),
    'own.pem': PEM,
    'data/tls/ca.pem': PEM,
    'extra.pem': PEM
  })
  t.equal(readConfig({}, cwd).ca?.length, rootCertificates.length + 2)
  t.equal(readConfig({ DATA_DIR: 'elsewhere' }, cwd).ca?.length, rootCertificates.length + 1)
  t.ok(
    (readConfig({ NODE_EXTRA_CA_CERTS: join(cwd, 'extra.pem') }, cwd).ca?.length ?? 0) >= rootCertificates.length + 2
  )
})

test('each fault is one sentence that names its setting and never its value', async (t) => {
  const cases: [string, Record<string, string>, string | null, RegExp][] = [
    ['no key', {}, null, /^No API key: set SERVICE_API_KEY, or apiKey in .+:8443\/agents \(New Agent\)\.$/],
    ['no key, own API', {}, '{"apiUrl":"https://a.example.com"}', /https:\/\/a\.example\.com\/agents/],
    ['wrong key', { SERVICE_API_KEY: 'secret' }, null, /^SERVICE_API_KEY is not an API key: .+\.$/],
    [
      'key file',
      { SERVICE_API_KEY_FILE: '/gone' },
      null,
      /^SERVICE_API_KEY_FILE: cannot read \/gone \(ENOENT\); .+\.$/
    ],
    ['wrong key in file', {}, '{"apiKey":"secret"}', /^apiKey in agent\.config\.json is not an API key: .+\.$/],
    ['not JSON', {}, '{"apiKey":secret}', /^agent\.config\.json is not JSON; correct it or remove it\.$/],
    ['no object', {}, '["secret"]', /^agent\.config\.json must be a JSON object\.$/],
    ['unknown field', {}, '{"key":"secret"}', /^agent\.config\.json: "key" is not known; remove it .+$/],
    ['wrong type', {}, '{"apiKey":7}', /^agent\.config\.json: apiKey must be a text; correct it\.$/],
    [
      'no address',
      { SERVICE_API_KEY: KEY, INGEST_URL: 'https://a' },
      null,
      /^INGEST_URL must be an address such as wss:/
    ],
    [
      'unprotected',
      { SERVICE_API_KEY: KEY, INGEST_URL: 'ws://a.example.com' },
      null,
      /^INGEST_URL: ws:\/\/ would send/
    ],
    [
      'no CA file',
      { SERVICE_API_KEY: KEY },
      '{"caFile":"gone.pem"}',
      /^caFile in .+ cannot read .+gone\.pem \(ENOENT\)/
    ],
    ['no PEM', { SERVICE_API_KEY: KEY }, '{"caFile":"agent.config.json"}', /holds no PEM certificate/]
  ]
  for (const [name, env, file, message] of cases) {
    const cwd = folder(t, file === null ? {} : { 'agent.config.json': file })
    t.throws(() => readConfig(env, cwd), { name: 'ConfigError', message }, name)
    t.throws(() => readConfig(env, cwd), { message: /^((?!secret|ssss).)*$/ }, `${name}: no value is told`)
  }
})

test('the log level is checked', async (t) => {
  t.same(readProcessConfig({}), { logLevel: 'info', parentPipe: false })
  t.same(readProcessConfig({ LOG_LEVEL: 'debug', PULSEGATE_PARENT_PIPE: '1' }), { logLevel: 'debug', parentPipe: true })
  t.throws(() => readProcessConfig({ LOG_LEVEL: 'loud' }), { message: /^LOG_LEVEL must be one of / })
})
