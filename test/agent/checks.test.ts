import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import type { CheckResult } from '../../agent/checks/check.ts'
import { createHttpCheck } from '../../agent/checks/http.ts'
import { checkTcp } from '../../agent/checks/tcp.ts'
import { loadOrCreateCertificate } from '../../shared/certificates.ts'
import type { AgentMonitor, MonitorSettings } from '../../shared/protocol/frames.ts'

const checkHttp = createHttpCheck({ userAgent: 'Pulsegate-Agent/test' })
const never = new AbortController().signal

function monitor(target: string, settings?: MonitorSettings): AgentMonitor {
  const monitorId = '00000000-0000-7000-8000-000000000001'
  const common = { monitorId, name: 'site', kind: 'http' as const, intervalSeconds: 60, timeoutSeconds: 5 }
  return { ...common, target, ...(settings !== undefined && { settings }) }
}

async function listening(t: Test, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  return (server.address() as AddressInfo).port
}

async function serve(t: Test, handle: RequestListener): Promise<string> {
  const server = createServer(handle)
  const port = await listening(t, server)
  t.teardown(() => server.closeAllConnections())
  return `http://127.0.0.1:${port}`
}

/** Answers `/status/<n>` with that status, and `/to/<n>` with n redirects before a 200. */
const site: RequestListener = (request, response) => {
  const [, kind, value] = (request.url ?? '').split('/')
  if (kind === 'to' && Number(value) > 0) {
    response.writeHead(302, { Location: `/to/${Number(value) - 1}` }).end()
    return
  }
  response.writeHead(kind === 'status' ? Number(value) : 200).end('hello')
}

test('an HTTP check is judged by the status of the answer', async (t) => {
  const url = await serve(t, site)
  const cases: [string, MonitorSettings | undefined, CheckResult['status'], string?][] = [
    ['/', undefined, 'up'],
    ['/status/204', undefined, 'up'],
    ['/status/404', undefined, 'down', 'HTTP 404 Not Found'],
    ['/status/500', undefined, 'down', 'HTTP 500 Internal Server Error'],
    ['/status/404', { expectedStatuses: [404] }, 'up'],
    ['/', { expectedStatuses: [201] }, 'down', 'HTTP 200 OK'],
    ['/to/5', undefined, 'up'],
    ['/to/6', undefined, 'down', 'more than 5 redirects'],
    ['/to/1', { expectedStatuses: [302] }, 'up']
  ]
  for (const [path, settings, status, message] of cases) {
    const result = await checkHttp(monitor(`${url}${path}`, settings), never)
    t.match(result, { status, ...(message !== undefined && { message }) }, `${path} ${JSON.stringify(settings)}`)
    t.ok(result.latency > 0 && result.latency < 5000)
  }
})

test('an HTTP check uses the method of the monitor and says who asks', async (t) => {
  const seen: unknown[] = []
  const url = await serve(t, (request, response) => {
    seen.push([request.method, request.url, request.headers['user-agent']])
    response.writeHead(request.url === '/form' ? 303 : 200, { Location: '/done' }).end()
  })
  await checkHttp(monitor(url), never)
  await checkHttp(monitor(url, { method: 'HEAD' }), never)
  await checkHttp(monitor(`${url}/form`, { method: 'POST' }), never)
  const who = 'Pulsegate-Agent/test'
  t.same(seen, [
    ['GET', '/', who],
    ['HEAD', '/', who],
    ['POST', '/form', who],
    ['GET', '/done', who]
  ])
})

test('a slow good answer is degraded', async (t) => {
  const url = await serve(t, (_request, response) => void setTimeout(() => response.end(), 20))
  t.match(await checkHttp(monitor(url, { degradedOverMs: 5 }), never), {
    status: 'degraded',
    message: 'slower than 5 ms'
  })
  t.match(await checkHttp(monitor(url, { degradedOverMs: 4000 }), never), { status: 'up' })
})

test('an answer that never ends counts as up once a mebibyte has come', async (t) => {
  const chunk = Buffer.alloc(64 * 1024)
  const url = await serve(t, (_request, response) => {
    const more = () => {
      while (!response.destroyed && response.write(chunk));
    }
    response.on('drain', more)
    more()
  })
  t.match(await checkHttp(monitor(url), never), { status: 'up' })
})

test('an answer that breaks off is down', async (t) => {
  const url = await serve(t, (_request, response) => {
    response.writeHead(200, { 'Content-Length': 100 })
    response.write('half', () => response.destroy())
  })
  t.match(await checkHttp(monitor(url), never), { status: 'down' })
})

test('a check ends with its signal', async (t) => {
  const url = await serve(t, () => undefined)
  const controller = new AbortController()
  const result = checkHttp(monitor(url), controller.signal)
  controller.abort()
  t.match(await result, { status: 'down', message: 'no whole answer within 5 s' })
})

test('a target that cannot be asked is down with plain words', async (t) => {
  const url = await serve(t, (_request, response) => response.writeHead(302, { Location: 'file:///etc/passwd' }).end())
  const notHttp = createTcpServer((socket) => socket.resume().end('220 mail.example.com ESMTP\r\n'))
  const port = await listening(t, notHttp)
  const cases = [
    ['http://127.0.0.1:1/', 'connection refused'],
    [url, 'redirected to file: which is not HTTP'],
    [`http://127.0.0.1:${port}/`, 'the answer is not HTTP'],
    [`https://127.0.0.1:${port}/`, 'TLS: the other side does not speak TLS here'],
    ['no address', /./]
  ] as const
  for (const [target, message] of cases) t.match(await checkHttp(monitor(target), never), { status: 'down', message })
})

test('a certificate is checked; an authority that was named is trusted', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'checks-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const { certFile, caFile } = await loadOrCreateCertificate(dir, [])
  const pem = readFileSync(certFile, 'utf8')
  const server = createTlsServer({ cert: pem, key: pem }, site)
  const url = `https://127.0.0.1:${await listening(t, server)}/`
  t.match(await checkHttp(monitor(url), never), {
    status: 'down',
    message: 'TLS: the certificate is signed by an unknown authority'
  })
  const trusting = createHttpCheck({ userAgent: 'test', ca: [readFileSync(caFile, 'utf8')] })
  t.match(await trusting(monitor(url), never), { status: 'up' })
  t.match(await trusting(monitor(url.replace('127.0.0.1', '127.0.0.2')), never), { status: 'down' })
})

test('a TCP check is up when the port opens', async (t) => {
  const port = await listening(t, createTcpServer())
  const cases = [
    [`127.0.0.1:${port}`, { status: 'up' }],
    [`localhost:${port}`, { status: 'up' }],
    ['127.0.0.1:1', { status: 'down', message: 'connection refused' }],
    ['127.0.0.1', { status: 'down', message: 'the target is not host:port' }],
    ['127.0.0.1:70000', { status: 'down', message: 'the target is not host:port' }],
    ['[::1]:1', { status: 'down' }]
  ] as const
  for (const [target, expected] of cases) t.match(await checkTcp(monitor(target), never), expected, target)
})

test('a TCP check ends with its signal', async (t) => {
  const port = await listening(t, createTcpServer())
  t.match(await checkTcp(monitor(`127.0.0.1:${port}`), AbortSignal.abort()), { status: 'down' })
})
