import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type RawData, WebSocket } from 'ws'
import { type GatewayFrame, SUBPROTOCOL } from '../../shared/protocol/frames.ts'

type FrameOf<T extends GatewayFrame['type']> = Extract<GatewayFrame, { type: T }>

export interface FakeAgent {
  /** Sends one object as a JSON text frame. */
  send(frame: object): void
  /** Sends a text frame (string) or a binary one (Buffer) as it is. */
  sendRaw(data: string | Buffer): void
  /** Says hello and resolves to the welcome. */
  hello(hello?: { stream?: string; first?: number }): Promise<FrameOf<'welcome'>>
  /** Takes the oldest frame of that type not taken yet, or the next to come. Frames of other types stay for later. */
  next<T extends GatewayFrame['type']>(type: T, timeoutMs?: number): Promise<FrameOf<T>>
  /** Every frame received so far, taken or not. */
  frames: GatewayFrame[]
  /** The subprotocol that the gateway chose; empty when none. */
  subprotocol: string
  /** Stops or resumes reading, as a slow peer does. */
  pause(): void
  resume(): void
  /** Resolves when the connection has ended, whoever ended it. */
  closed: Promise<{ code: number; reason: string }>
  /** Ends the connection by the closing handshake. */
  close(code?: number): Promise<void>
  /** Ends the connection without one, as a lost network does. */
  terminate(): void
}

interface Options {
  url: string
  /** Absent: no Authorization header is sent. */
  apiKey?: string
  /** Offered subprotocols; `null` offers none. */
  subprotocol?: string | string[] | null
  /** The CA of a gateway that speaks TLS, in PEM. */
  ca?: string | Buffer
  headers?: Record<string, string>
}

/** The gateway answered the upgrade with plain HTTP. */
export class UpgradeRefused extends Error {
  override name = 'UpgradeRefused'
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string

  constructor(status: number, headers: IncomingMessage['headers'], body: string) {
    super(`upgrade refused with ${status}: ${body}`)
    this.status = status
    this.headers = headers
    this.body = body
  }
}

async function readBody(answer: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of answer.setEncoding('utf8')) body += chunk
  return body
}

/** Frames that came, and those who wait for one. */
function createInbox(closed: Promise<{ code: number; reason: string }>) {
  const frames: GatewayFrame[] = []
  const untaken: GatewayFrame[] = []
  const waiting = new Set<() => boolean>()

  async function next<T extends GatewayFrame['type']>(type: T, timeoutMs = 5000): Promise<FrameOf<T>> {
    let timer: NodeJS.Timeout | undefined
    let look = () => false
    try {
      return await new Promise<FrameOf<T>>((resolve, reject) => {
        look = () => {
          const index = untaken.findIndex((frame) => frame.type === type)
          if (index < 0) return false
          // At once, not when the promise settles: the next frame may come in this same turn and would be lost.
          waiting.delete(look)
          // Its type has just been compared.
          resolve(untaken.splice(index, 1)[0] as FrameOf<T>)
          return true
        }
        if (look()) return
        waiting.add(look)
        timer = setTimeout(() => reject(new Error(`no ${type} within ${timeoutMs} ms`)), timeoutMs)
        void closed.then(({ code }) => reject(new Error(`closed with ${code} while waiting for ${type}`)))
      })
    } finally {
      clearTimeout(timer)
      waiting.delete(look)
    }
  }

  return {
    frames,
    next,
    receive: (data: RawData) => {
      // What a gateway sends is under test elsewhere (test/protocol); here its shape is taken as given.
      const frame = JSON.parse(String(data)) as GatewayFrame
      frames.push(frame)
      untaken.push(frame)
      for (const wake of [...waiting]) if (wake()) break
    }
  }
}

function open({ url, apiKey, subprotocol = SUBPROTOCOL, ca, headers }: Options): WebSocket {
  return new WebSocket(url, subprotocol ?? [], {
    ...(ca === undefined ? {} : { ca }),
    headers: { ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }), ...headers },
    perMessageDeflate: false
  })
}

/**
 * A hand-driven client of the ingest protocol that says nothing by itself but pongs. Resolves when the socket is open.
 * @throws UpgradeRefused when the gateway answers the upgrade with plain HTTP.
 */
export async function connectAgent(options: Options): Promise<FakeAgent> {
  const socket = open(options)
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }))
  })
  const inbox = createInbox(closed)
  // Before the open: a gateway may write its first frame into the segment of the upgrade's answer.
  socket.on('message', inbox.receive)
  await new Promise<void>((resolve, reject) => {
    socket.on('open', resolve)
    socket.on('error', reject)
    socket.on('unexpected-response', (request, answer) => {
      readBody(answer)
        .then((body) => reject(new UpgradeRefused(answer.statusCode ?? 0, answer.headers, body)), reject)
        .finally(() => request.destroy())
    })
  })
  const send = (frame: object) => socket.send(JSON.stringify(frame))
  return {
    send,
    sendRaw: (data) => socket.send(data),
    hello: ({ stream = randomUUID(), first = 1 } = {}) => {
      send({ type: 'hello', stream, first, agent: { name: 'fake-agent', version: '0' } })
      return inbox.next('welcome')
    },
    next: inbox.next,
    frames: inbox.frames,
    subprotocol: socket.protocol,
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    closed,
    close: async (code = 1000) => {
      socket.close(code)
      await closed
    },
    terminate: () => socket.terminate()
  }
}
