import { X509Certificate } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'tap'
import { type GeneratedCertificate, loadOrCreateCertificate } from '../../shared/certificates.ts'
import { dataDirFor } from '../support/data-dir.ts'

async function read(file: string): Promise<string> {
  return readFile(file, 'utf8')
}

/** Resolves with the status, or the code of the refusal, of a request by a client that trusts the CA file. */
async function ask(made: GeneratedCertificate, host: string): Promise<number | string> {
  const server = createServer({ cert: await read(made.certFile), key: await read(made.keyFile) }, (_req, res) =>
    res.end()
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const ca = await read(made.caFile)
  const answer = await new Promise<number | string>((resolve) => {
    request({ host: '127.0.0.1', servername: host, port, ca, agent: false }, (res) => resolve(res.statusCode ?? 0))
      .on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
      .end()
  })
  await new Promise((resolve) => server.close(resolve))
  return answer
}

test('who trusts the CA file reaches localhost and the configured host, and no other name', async (t) => {
  const made = await loadOrCreateCertificate(await dataDirFor(t), ['status.example.com', '[2001:db8::1]'])
  t.equal(await ask(made, 'localhost'), 200)
  t.equal(await ask(made, 'status.example.com'), 200)
  t.equal(await ask(made, 'other.example.com'), 'ERR_TLS_CERT_ALTNAME_INVALID')
  t.ok(new X509Certificate(await read(made.certFile)).checkIP('2001:db8::1'))
})

test('the certificate stays the same from start to start', async (t) => {
  const dataDir = await dataDirFor(t)
  const first = await read((await loadOrCreateCertificate(dataDir, ['a.example.com'])).certFile)
  t.equal(await read((await loadOrCreateCertificate(dataDir, ['a.example.com'])).certFile), first)
})

test('a new host gets a new certificate of the same CA', async (t) => {
  const dataDir = await dataDirFor(t)
  const { caFile, certFile } = await loadOrCreateCertificate(dataDir, [])
  const before = { ca: await read(caFile), cert: await read(certFile) }
  await loadOrCreateCertificate(dataDir, ['new.example.com'])
  t.equal(await read(caFile), before.ca)
  t.not(await read(certFile), before.cert)
})

test('processes that start at once end up with one CA and a certificate of it', async (t) => {
  const dataDir = await dataDirFor(t)
  const [made] = await Promise.all([1, 2, 3, 4].map(() => loadOrCreateCertificate(dataDir, ['a.example.com'])))
  t.ok(made)
  if (made) t.equal(await ask(made, 'a.example.com'), 200)
})

test('a spoilt certificate is made anew, and keys are for their owner only', async (t) => {
  const dataDir = await dataDirFor(t)
  const made = await loadOrCreateCertificate(dataDir, [])
  await writeFile(made.certFile, 'spoilt')
  await loadOrCreateCertificate(dataDir, [])
  t.equal(await ask(made, 'localhost'), 200)
  t.equal((await stat(made.keyFile)).mode & 0o777, 0o600)
  t.equal((await stat(join(dataDir, 'tls/ca-key.pem'))).mode & 0o777, 0o600)
  t.equal((await stat(made.caFile)).mode & 0o777, 0o644)
})
