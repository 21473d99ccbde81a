import { createPrivateKey, KeyObject, randomBytes, webcrypto, X509Certificate } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { createOnce, readIfThere, replaceFile } from './kept-file.ts'

export interface GeneratedCertificate {
  /** The server's certificate; the same file holds its key, so the two always belong together. Mode 0600. */
  certFile: string
  keyFile: string
  /** What clients trust. */
  caFile: string
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'
const DAY_MS = 86_400_000
const CA_DAYS = 3_650
/** Browsers refuse longer ones, even of an authority that a user added. */
const SERVER_DAYS = 397
/** Re-made this long before the end. */
const RENEW_DAYS = 30
const ALWAYS = ['localhost', '127.0.0.1', '::1']

// Loaded only to make something: a start that finds its certificate is 0.1 s of processor time quicker.
async function loadX509() {
  // The library's container needs this one first.
  await import('reflect-metadata')
  return import('@peculiar/x509')
}

interface Pair {
  certificate: X509Certificate
  key: KeyObject
}

function readPair(text: string | undefined): Pair | undefined {
  if (text === undefined) return undefined
  try {
    const pair = { certificate: new X509Certificate(text), key: createPrivateKey(text) }
    return pair.certificate.checkPrivateKey(pair.key) ? pair : undefined
  } catch {
    // Not a certificate and a key (an edited file): it is made anew, as a missing one is.
    return undefined
  }
}

function isFresh(certificate: X509Certificate): boolean {
  return Date.parse(certificate.validTo) - Date.now() > RENEW_DAYS * DAY_MS
}

function serverFits(pair: Pair | undefined, ca: Pair, hosts: readonly string[]): boolean {
  if (pair === undefined || !isFresh(pair.certificate) || !pair.certificate.verify(ca.certificate.publicKey))
    return false
  const { certificate } = pair
  return hosts.every((host) => (isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host)) !== undefined)
}

function pem(certificate: { toString(format: 'pem'): string }, key: webcrypto.CryptoKey): string {
  return `${certificate.toString('pem')}\n${KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' })}`
}

function validity(days: number): { notBefore: Date; notAfter: Date } {
  // A day back: the clock of a phone or container that looks at it may be behind.
  return { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + (days - 1) * DAY_MS) }
}

async function makeAuthority(): Promise<string> {
  const x509 = await loadX509()
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    // Each its own name: a browser that still trusts an older one must not mistake them.
    name: `CN=Pulsegate development CA ${randomBytes(4).toString('hex')}`,
    ...validity(CA_DAYS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey)
    ]
  })
  return pem(certificate, keys.privateKey)
}

function serialNumber(): string {
  // The first bit stays 0: a serial number is a positive integer.
  return `4${randomBytes(16).toString('hex').slice(1)}`
}

function publicKeyOf(pair: Pair): Promise<webcrypto.CryptoKey> {
  const der = pair.certificate.publicKey.export({ type: 'spki', format: 'der' })
  return webcrypto.subtle.importKey('spki', der, ALGORITHM, true, ['verify'])
}

async function makeServer(ca: Pair, hosts: readonly string[]): Promise<string> {
  const x509 = await loadX509()
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const caKey = ca.key.export({ type: 'pkcs8', format: 'der' })
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: 'CN=Pulsegate',
    issuer: ca.certificate.subject,
    ...validity(SERVER_DAYS),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: await webcrypto.subtle.importKey('pkcs8', caKey, ALGORITHM, false, ['sign']),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([SERVER_AUTH]),
      new x509.SubjectAlternativeNameExtension(
        hosts.map((host) => ({ type: isIP(host) ? ('ip' as const) : ('dns' as const), value: host }))
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      // Clients that verify strictly (Python 3.13 on) insist on it.
      await x509.AuthorityKeyIdentifierExtension.create(await publicKeyOf(ca))
    ]
  })
  return pem(certificate, keys.privateKey)
}

async function authority(file: string): Promise<Pair> {
  for (let tries = 0; tries < 5; tries += 1) {
    const kept = readPair(readIfThere(file))
    if (kept !== undefined && isFresh(kept.certificate)) return kept
    rmSync(file, { force: true })
    // Of two processes at once one creates it; both then read that one.
    createOnce(file, await makeAuthority())
  }
  throw new Error(`The development CA in ${file} cannot be read or made.`)
}

/**
 * The certificate of this installation for `hosts` and localhost, signed by a development CA that stays the same, both
 * made in `<dataDir>/tls` when missing, near their end, or lacking a host. Any number of processes may call it at once.
 */
export async function loadOrCreateCertificate(
  dataDir: string,
  hosts: readonly string[]
): Promise<GeneratedCertificate> {
  const dir = resolve(dataDir, 'tls')
  mkdirSync(dir, { recursive: true, mode: 0o755 })
  const names = [...new Set([...ALWAYS, ...hosts.map((host) => host.replace(/^\[|\]$/g, '').toLowerCase())])]
  const ca = await authority(join(dir, 'ca-key.pem'))
  const caFile = join(dir, 'ca.pem')
  const caText = ca.certificate.toString()
  if (readIfThere(caFile) !== caText) replaceFile(caFile, caText, 0o644)
  const certFile = join(dir, 'server.pem')
  if (!serverFits(readPair(readIfThere(certFile)), ca, names)) replaceFile(certFile, await makeServer(ca, names))
  return { certFile, keyFile: certFile, caFile }
}
