import { connect } from 'node:tls'
import { type Test, t } from 'tap'
import { ROUTES } from '../../shared/contract/routes.ts'
import { apiFor } from '../support/api.ts'
import { createCast } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { type RawAnswer, rawRequest } from '../support/raw-http.ts'

const stores = await openStores(t)
const api = await apiFor(t, stores, { tls: true })
const plain = await apiFor(t, stores)
const { alice, pushMonitor, monitor } = await createCast(plain)
const https = (bytes: string) => rawRequest({ port: api.port, ca: api.ca as Buffer }, bytes)
const http = (bytes: string) => rawRequest({ port: api.httpPort }, bytes)
const HOST = 'Host: localhost\r\n'

function expectHeaders(t: Test, answer: RawAnswer): void {
  t.equal(answer.header('x-content-type-options'), 'nosniff')
  t.match(answer.header('content-security-policy'), /(^|; )frame-ancestors 'none'$/)
  t.equal(answer.header('x-powered-by'), undefined)
  t.equal(answer.header('strict-transport-security'), undefined, 'no HSTS for a name of this machine')
}

for (const { method, path } of Object.values(ROUTES)) {
  for (const verb of method === 'ANY' ? ['GET', 'POST', 'HEAD'] : [method, 'OPTIONS', 'PUT']) {
    t.test(`${verb} ${path} carries them`, async (t) => {
      const target = path.replace('{id}', monitor.id).replace('{token}', 'x'.repeat(32)).replace('{signal}', 'fail')
      const answer = await https(`${verb} ${target} HTTP/1.1\r\n${HOST}Connection: close\r\nContent-Length: 0\r\n\r\n`)
      expectHeaders(t, answer)
      t.not(answer.status, 500)
    })
  }
}

const good: Array<[name: string, head: string, status: number]> = [
  ['an answer to a signed-in person', `GET /v1/me HTTP/1.1\r\n${HOST}Authorization: Bearer ${alice.jwt}\r\n`, 401],
  ['a push', `GET ${pushMonitor.pushPath} HTTP/1.1\r\n${HOST}`, 200],
  ['HEAD of a page', `HEAD / HTTP/1.1\r\nConnection: close\r\n${HOST}`, 200]
]
const faults: Array<[name: string, head: string, status: number]> = [
  ['an unknown address', `GET /nowhere HTTP/1.1\r\n${HOST}`, 404],
  ['the root of no aliases', `GET /api/agents HTTP/1.1\r\n${HOST}`, 404],
  ['a path that cannot be decoded', `GET /v1/monitors/%zz HTTP/1.1\r\n${HOST}Authorization: Bearer x\r\n`, 401],
  ['TRACE', `TRACE /v1/me HTTP/1.1\r\n${HOST}`, 405],
  ['CONNECT', `CONNECT example.com:443 HTTP/1.1\r\n${HOST}`, 405],
  ['an upgrade that is not taken', `GET / HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: h2c\r\n`, 200],
  ['no Host', 'GET / HTTP/1.1\r\n', 400],
  ['two Hosts', `GET / HTTP/1.1\r\n${HOST}${HOST}`, 400],
  ['a broken request line', 'GET\r\n', 400],
  ['a header without a colon', `GET / HTTP/1.1\r\n${HOST}broken\r\n`, 400],
  ['two lengths', `POST / HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 2\r\n`, 400],
  ['a length and chunks', `POST / HTTP/1.1\r\n${HOST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n`, 400],
  ['an expectation', `POST /v1/auth/login HTTP/1.1\r\n${HOST}Expect: miracles\r\nContent-Length: 0\r\n`, 417],
  ['an unknown version', `GET / HTTP/9.9\r\n${HOST}`, 400],
  ['an address of 64 KiB', `GET /${'x'.repeat(65_536)} HTTP/1.1\r\n${HOST}`, 431],
  ['headers of 64 KiB', `GET / HTTP/1.1\r\n${HOST}X: ${'x'.repeat(65_536)}\r\n`, 431]
]
for (const [name, head, status] of [...good, ...faults]) {
  t.test(`${name} is answered with ${status} and carries them`, async (t) => {
    const answer = await https(`${head}\r\n`)
    t.equal(answer.status, status)
    expectHeaders(t, answer)
  })
  t.test(`${name} in plain HTTP carries them`, async (t) => expectHeaders(t, await http(`${head}\r\n`)))
}

t.test('HSTS is sent where the name is public and the certificate is not ours', async (t) => {
  const proxied = await apiFor(t, stores, { addresses: { apiUrl: 'https://api.example.com' } })
  const answer = await rawRequest({ port: proxied.port }, `GET / HTTP/1.1\r\n${HOST}\r\n`)
  t.equal(answer.header('strict-transport-security'), 'max-age=31536000')
  const ours = await apiFor(t, stores, { tls: true, addresses: { apiUrl: 'https://api.example.com' } })
  expectHeaders(t, await rawRequest({ port: ours.port, ca: ours.ca as Buffer }, `GET / HTTP/1.1\r\n${HOST}\r\n`))
})

const handshakes: Array<[version: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3', ciphers: string, good: boolean]> = [
  ['TLSv1.3', '', true],
  ['TLSv1.2', 'ECDHE-ECDSA-AES128-GCM-SHA256', true],
  ['TLSv1.2', 'ECDHE-ECDSA-AES128-SHA', false],
  ['TLSv1.1', 'ALL:@SECLEVEL=0', false]
]
for (const [version, ciphers, good] of handshakes) {
  t.test(`${version} ${ciphers} is ${good ? 'spoken' : 'refused'}`, async (t) => {
    const spoken = await new Promise<boolean>((resolve) => {
      const versions = { minVersion: version, maxVersion: version }
      const socket = connect({
        port: api.port,
        host: 'localhost',
        ca: api.ca,
        ...versions,
        ...(ciphers && { ciphers })
      })
      socket.on('secureConnect', () => resolve(true)).on('error', () => resolve(false))
      socket.on('secureConnect', () => socket.destroy())
    })
    t.equal(spoken, good)
  })
}
