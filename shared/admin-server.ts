import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SECURITY_HEADERS } from './errors.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { answerRawErrors, withSecurityHeaders } from './raw-answers.ts'

/** A named thing that must answer before the process is ready. */
export type ReadyCheck = readonly [name: string, check: () => Promise<unknown>]

interface Options {
  port: number
  log: Log
  metrics: Metrics
  ready: ReadyCheck[]
}

export interface AdminServer {
  readonly port: number
  /** From now on `/readyz` says no, so that balancers look elsewhere. */
  draining(): void
  stop(): Promise<void>
}

const CHECK_MS = 2000

/** Names of the checks that did not pass within 2 s. */
export async function failing(checks: ReadyCheck[]): Promise<string[]> {
  const results = await Promise.all(
    checks.map(async ([name, check]) => {
      const late = new Promise<never>((_, reject) => setTimeout(() => reject(new Error('late')), CHECK_MS).unref())
      return Promise.race([check(), late]).then(
        () => null,
        () => name
      )
    })
  )
  return results.filter((name) => name !== null)
}

function send(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
  res.end(`${JSON.stringify(body)}\n`)
}

async function answer(req: IncomingMessage, res: ServerResponse, { metrics, ready }: Options, draining: boolean) {
  const path = (req.url ?? '').split('?', 1)[0]
  if (req.method !== 'GET' && req.method !== 'HEAD') return send(res, 405, { code: 'method_not_allowed' })
  if (path === '/healthz') return send(res, 200, { status: 'ok' })
  if (path === '/readyz') {
    const missing = draining ? ['draining'] : await failing(ready)
    return send(res, missing.length === 0 ? 200 : 503, {
      status: missing.length === 0 ? 'ready' : 'not_ready',
      missing
    })
  }
  if (path !== '/metrics') return send(res, 404, { code: 'not_found' })
  res.writeHead(200, { 'Content-Type': metrics.contentType })
  res.end(await metrics.text())
}

/** How many ports above the wanted one are tried when a process of the same kind already has it. */
const NEXT_PORTS = 100

function listen(server: ReturnType<typeof createServer>, wanted: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let port = wanted
    server.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE' || port >= wanted + NEXT_PORTS) return reject(error)
      port++
      server.listen(port, '127.0.0.1')
    })
    server.on('listening', () => resolve((server.address() as AddressInfo).port))
    server.listen(port, '127.0.0.1')
  })
}

/** `/healthz`, `/readyz` and `/metrics` of this process, on loopback only. */
export async function startAdminServer(options: Options): Promise<AdminServer> {
  let draining = false
  const server = createServer(withSecurityHeaders(), (req, res) => {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) res.setHeader(name, value)
    answer(req, res, options, draining).catch((error) => {
      options.log.error({ err: error }, 'admin request failed')
      res.destroy()
    })
  })
  answerRawErrors(server)
  const port = await listen(server, options.port)
  if (port !== options.port && options.port !== 0)
    options.log.info({ port }, 'the admin port was taken; using the next one')
  return {
    port,
    draining: () => {
      draining = true
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
