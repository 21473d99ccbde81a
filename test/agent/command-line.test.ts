import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Test, test } from 'tap'
import { loadOrCreateCertificate } from '../../shared/certificates.ts'
import { startGatewayPeer } from '../support/gateway-peer.ts'

const MAIN = resolve('agent/main.ts')
const TSX = import.meta.resolve('tsx')
const KEY = `pga_${'s'.repeat(38)}`

function folder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'agent-'))
  t.teardown(() => rmSync(path, { recursive: true }))
  return path
}

/** Runs the agent as a person would, in a folder of its own; its environment is only what is given here. */
function start(t: Test, args: string[], env: Record<string, string> = {}, cwd = folder(t)) {
  const child = spawn(process.execPath, ['--import', TSX, MAIN, ...args], { cwd, env, stdio: 'pipe' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return { child, ended }
}

test('a wrong configuration is said in one sentence on stderr', async (t) => {
  const { code, output } = await start(t, []).ended
  t.equal(code, 78)
  t.match(output, /^No API key: [^\n]+\n$/)
})

test('version and usage', async (t) => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  t.same(await start(t, ['version']).ended, { code: 0, output: `${version}\n` })
  const { code, output } = await start(t, ['dance']).ended
  t.equal(code, 64)
  t.match(output, /^Usage:/)
})

test('check prints one result and its exit code tells down from up', async (t) => {
  const server = createServer((request, response) => response.writeHead(request.url === '/' ? 200 : 500).end())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const cases: [string, number, RegExp][] = [
    [`http://${address}/`, 0, /^up [\d.]+ ms\n$/],
    [`http://${address}/broken`, 1, /^down [\d.]+ ms: HTTP 500 Internal Server Error\n$/],
    [address, 0, /^up [\d.]+ ms\n$/],
    ['somewhere', 64, /neither a URL .+ nor host:port/]
  ]
  for (const [target, code, output] of cases) t.match(await start(t, ['check', target]).ended, { code, output }, target)
})

test('the agent trusts the authority of DATA_DIR, reports a check and stops in order on SIGTERM', async (t) => {
  const cwd = folder(t)
  const { certFile } = await loadOrCreateCertificate(join(cwd, '.data'), [])
  const pem = readFileSync(certFile, 'utf8')
  const peer = await startGatewayPeer({ cert: pem, key: pem })
  t.teardown(() => peer.stop())
  writeFileSync(join(cwd, 'agent.config.json'), JSON.stringify({ apiKey: KEY, ingestUrl: peer.url }))
  const { child, ended } = start(t, [], {}, cwd)
  const socket = await peer.socket()
  t.equal(socket.request.headers.authorization, `Bearer ${KEY}`)
  const monitorId = '00000000-0000-7000-8000-000000000001'
  const target = new URL(peer.url).host
  const monitor = { monitorId, name: 'gateway', kind: 'tcp' as const, target, intervalSeconds: 60, timeoutSeconds: 5 }
  await socket.welcome({ monitors: [monitor], time: new Date().toISOString() })
  const { seq, items } = await socket.heartbeats()
  t.match(items, [{ monitorId, status: 'up' }])
  child.kill('SIGTERM')
  socket.send({ type: 'ack', seq })
  t.equal((await socket.closed).code, 1000)
  const { code, output } = await ended
  t.equal(code, 0)
  t.match(output, /gateway is up/)
  t.notMatch(output, /ssss/, 'the key is not in the log')
})

test('a gateway with a certificate of an unknown authority is refused with the advice to name it', async (t) => {
  const cwd = folder(t)
  const { certFile } = await loadOrCreateCertificate(join(cwd, 'elsewhere'), [])
  const pem = readFileSync(certFile, 'utf8')
  const peer = await startGatewayPeer({ cert: pem, key: pem })
  t.teardown(() => peer.stop())
  const { child, ended } = start(t, [], { SERVICE_API_KEY: KEY, INGEST_URL: peer.url }, cwd)
  await new Promise<void>((done) => child.stdout.on('data', (text) => /signed by/.test(text) && done()))
  child.kill('SIGINT')
  const { code, output } = await ended
  t.equal(code, 0)
  t.match(output, /unknown authority; name its CA file in NODE_EXTRA_CA_CERTS or in caFile/)
})

test('a new key in agent.config.json is taken without a restart', async (t) => {
  const cwd = folder(t)
  const peer = await startGatewayPeer()
  t.teardown(() => peer.stop())
  const file = join(cwd, 'agent.config.json')
  writeFileSync(file, JSON.stringify({ apiKey: KEY, ingestUrl: peer.url }))
  const { child } = start(t, [], {}, cwd)
  const first = await peer.socket()
  await first.welcome()
  first.close(4401)
  await first.closed
  const apiKey = `pga_${'n'.repeat(38)}`
  writeFileSync(file, JSON.stringify({ apiKey, ingestUrl: peer.url }))
  child.kill('SIGHUP')
  t.equal((await peer.socket()).request.headers.authorization, `Bearer ${apiKey}`)
})

test('an agent whose parent is gone stops', async (t) => {
  const peer = await startGatewayPeer()
  t.teardown(() => peer.stop())
  const env = { SERVICE_API_KEY: KEY, INGEST_URL: peer.url, PULSEGATE_PARENT_PIPE: '1' }
  const { child, ended } = start(t, [], env)
  const socket = await peer.socket()
  await socket.welcome()
  child.stdin.end()
  t.equal((await socket.closed).code, 1000)
  t.match(await ended, { code: 0, output: /the parent is gone/ })
})
