import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import type { AgentMonitor } from '../../shared/protocol/frames.ts'
import type { Heartbeat } from '../../shared/protocol/heartbeat.ts'

export interface HelloFrame {
  type: 'hello'
  stream: string
  first: number
}

export interface ReceivedHeartbeats {
  type: 'heartbeats'
  seq: number
  sentAt: string
  items: Heartbeat[]
}

export interface Welcome {
  acked?: number
  maxBatch?: number
  maxInFlight?: number
  time?: string
  monitors?: AgentMonitor[]
}

/** One socket of an agent, seen from the gateway's end. */
export interface PeerSocket {
  readonly request: IncomingMessage
  /** The agent's hello; to be called first. */
  hello(): Promise<HelloFrame>
  /** The next heartbeats frame. */
  heartbeats(): Promise<ReceivedHeartbeats>
  /** Frames that have arrived and were not taken. */
  unread(): number
  /** Takes the hello and answers it. */
  welcome(options?: Welcome): Promise<HelloFrame>
  send(frame: object | string): void
  /** Resolves when the agent has dealt with everything sent to it so far. */
  settled(): Promise<void>
  close(code: number, reason?: string): void
  /** Cuts the connection without a close frame: the agent sees 1006. */
  cut(): void
  readonly closed: Promise<{ code: number }>
}

export interface Refusal {
  status: number
  headers?: Record<string, string>
  body?: string
}

/** A protocol peer for the agent: it does what the test says, and nothing of its own but to acknowledge nothing. */
export interface GatewayPeer {
  readonly url: string
  /** The next socket that an agent opens. */
  socket(): Promise<PeerSocket>
  /** Upgrades are answered with this until it is taken back with null. */
  refuse(refusal: Refusal | null): void
  /** Upgrades seen so far. */
  upgrades(): number
  stop(): Promise<void>
}

/** The gateway's time in a welcome: where a manual clock begins. */
const DEFAULT_TIME = '2026-11-21T10:00:00.000Z'

/** Hands out values in the order they came, to takers in the order they asked. */
function createMailbox<T>() {
  const values: T[] = []
  const takers: ((value: T) => void)[] = []
  return {
    put(value: T) {
      const taker = takers.shift()
      if (taker === undefined) values.push(value)
      else taker(value)
    },
    take: () => new Promise<T>((resolve) => (values.length > 0 ? resolve(values.shift() as T) : takers.push(resolve))),
    size: () => values.length
  }
}

function toPeerSocket(ws: WebSocket, request: IncomingMessage): PeerSocket {
  const frames = createMailbox<HelloFrame | ReceivedHeartbeats>()
  ws.on('message', (data) => frames.put(JSON.parse(data.toString())))
  const closed = once(ws, 'close').then(([code]) => ({ code: code as number }))
  const send = (frame: object | string) => ws.send(typeof frame === 'string' ? frame : JSON.stringify(frame))
  const hello = () => frames.take() as Promise<HelloFrame>
  return {
    request,
    hello,
    heartbeats: () => frames.take() as Promise<ReceivedHeartbeats>,
    unread: () => frames.size(),
    async welcome({ acked, maxBatch = 500, maxInFlight = 64, time = DEFAULT_TIME, monitors = [] } = {}) {
      const said = await hello()
      const connection = '00000000-0000-7000-8000-00000000c0de'
      send({ type: 'welcome', connection, acked: acked ?? said.first - 1, maxBatch, maxInFlight, time, monitors })
      return said
    },
    send,
    async settled() {
      ws.ping()
      await once(ws, 'pong')
    },
    close: (code, reason) => ws.close(code, reason),
    cut: () => ws.terminate(),
    closed
  }
}

/** Listens on a free port of the loopback, by TLS when given a certificate. */
export async function startGatewayPeer(tls?: { cert: string; key: string }): Promise<GatewayPeer> {
  const server = tls === undefined ? createServer() : createTlsServer(tls)
  const sockets = new WebSocketServer({ noServer: true })
  const opened = createMailbox<PeerSocket>()
  let refusal: Refusal | null = null
  let upgrades = 0
  server.on('upgrade', (request, stream, head) => {
    upgrades += 1
    if (refusal === null) {
      sockets.handleUpgrade(request, stream, head, (ws) => opened.put(toPeerSocket(ws, request)))
      return
    }
    const { status, headers = {}, body = '' } = refusal
    const lines = Object.entries({ Connection: 'close', 'Content-Length': body.length, ...headers })
    const statusLine = `HTTP/1.1 ${status} Refused\r\n`
    stream.end(`${statusLine}${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `${tls === undefined ? 'ws' : 'wss'}://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    socket: opened.take,
    refuse(next) {
      refusal = next
    },
    upgrades: () => upgrades,
    async stop() {
      for (const client of sockets.clients) client.terminate()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}
