import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { StartupError } from '../shared/env.ts'
import { answerRawErrors, withSecurityHeaders } from '../shared/raw-answers.ts'
import { TLS12_CIPHERS, type TlsFiles } from '../shared/tls.ts'
import { createApp } from './app.ts'
import { redirect } from './http/redirect.ts'
import type { Addresses, Parts } from './parts.ts'

export interface ApiOptions {
  parts: Parts
  /** Port of the API; 0 means any free one. */
  apiPort: number
  /** Port of the plain HTTP that only redirects; 0 means any free one. */
  httpPort: number
  /** Null: a trusted proxy ends TLS, and the API port is plain. */
  tls: TlsFiles | null
  /** Those not given follow the real ports on localhost. */
  addresses?: { [K in keyof Addresses]?: Addresses[K] | undefined }
}

export interface Api {
  readonly httpsPort: number
  readonly httpPort: number
  readonly addresses: Addresses
  stop(): Promise<void>
}

/** A year, in seconds (OWASP ASVS 3.4.1). */
const HSTS_SECONDS = 31_536_000
/** Requests under way may take this long to end at a stop, in milliseconds. */
const DRAIN_MS = 5000
const REQUEST_TIMEOUT_MS = 30_000
const HEADERS_TIMEOUT_MS = 10_000
/** Longer than the usual 60 s of balancers, so that it is they who end an idle connection. */
const KEEP_ALIVE_MS = 65_000

function secureServer({ certFile, keyFile }: TlsFiles): Server {
  return createTlsServer({
    ...withSecurityHeaders(),
    cert: readFileSync(certFile),
    key: readFileSync(keyFile),
    minVersion: 'TLSv1.2',
    ciphers: `TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:${TLS12_CIPHERS}`,
    honorCipherOrder: true
  })
}

function listen(server: Server, port: number, variable: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        new StartupError(`${variable}: cannot listen on port ${port} (${error.code ?? error.message})`, {
          cause: error
        })
      )
    })
    server.listen(port, () => resolve((server.address() as AddressInfo).port))
  })
}

function prepare(server: Server): Server {
  server.requestTimeout = REQUEST_TIMEOUT_MS
  server.headersTimeout = HEADERS_TIMEOUT_MS
  server.keepAliveTimeout = KEEP_ALIVE_MS
  answerRawErrors(server)
  return server
}

/** Ends the idle connections at once, each other one after its answer, and after `DRAIN_MS` all. */
function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const sweeping = setInterval(() => server.closeIdleConnections(), 50)
    const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
    server.close(() => {
      clearInterval(sweeping)
      clearTimeout(deadline)
      resolve()
    })
    server.closeIdleConnections()
  })
}

function isLoopback(host: string): boolean {
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/i.test(host)
}

/** Browsers remember HSTS: never for a name of this machine, nor for a certificate that only our CA vouches for. */
function hstsFor(apiUrl: string, tls: TlsFiles | null): number | null {
  return isLoopback(new URL(apiUrl).hostname) || tls?.caFile !== undefined ? null : HSTS_SECONDS
}

function completed(given: ApiOptions['addresses'], httpsPort: number): Addresses {
  const here = `https://localhost:${httpsPort}`
  const clean = (url: string) => url.replace(/\/+$/, '')
  return {
    apiUrl: clean(given?.apiUrl ?? here),
    appUrl: clean(given?.appUrl ?? here),
    siteUrl: clean(given?.siteUrl ?? here),
    ingestUrl: clean(given?.ingestUrl ?? 'wss://localhost:8444')
  }
}

/** Starts the HTTPS API and the plain HTTP that redirects to it. @throws StartupError when a port is taken. */
export async function startApi({ parts, apiPort, httpPort, tls, addresses: given }: ApiOptions): Promise<Api> {
  const main = prepare(tls === null ? createServer(withSecurityHeaders()) : secureServer(tls))
  const plain = prepare(createServer(withSecurityHeaders()))
  const httpsPort = await listen(main, apiPort, 'API_PORT')
  try {
    const redirectPort = await listen(plain, httpPort, 'HTTP_PORT')
    // Only now the real ports are known, which the addresses may follow. No request is read before this turn ends.
    const addresses = completed(given, httpsPort)
    const app: RequestListener = createApp({
      parts,
      addresses,
      behindProxy: tls === null,
      hstsSeconds: hstsFor(addresses.apiUrl, tls),
      ca: tls?.caFile === undefined ? null : readFileSync(tls.caFile, 'utf8')
    })
    main.on('request', app)
    plain.on('request', (request, response) => redirect(request, response, addresses))
    return {
      httpsPort,
      httpPort: redirectPort,
      addresses,
      stop: async () => {
        parts.stopping.abort()
        await Promise.all([close(main), close(plain)])
      }
    }
  } catch (error) {
    await close(main)
    throw error
  }
}
