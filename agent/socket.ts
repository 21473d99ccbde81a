import type { IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import { SUBPROTOCOL } from '../shared/protocol/frames.ts'
import { failureMessage, isUntrusted } from './failure-message.ts'

/** How a socket ended; said once. */
export type SocketEnd =
  | { readonly kind: 'closed'; readonly code: number; readonly reason: string }
  /** Answered with plain HTTP instead of an upgrade. */
  | { readonly kind: 'refused'; readonly status: number; readonly retryAfterMs?: number; readonly detail?: string }
  /** Never opened: name, TCP or TLS. */
  | { readonly kind: 'failed'; readonly message: string }

export interface SocketHandlers {
  onOpen(): void
  onText(text: string): void
  onPing(): void
  onEnd(end: SocketEnd): void
}

export interface SocketOptions {
  readonly url: string
  readonly apiKey: string
  /** Every authority to trust; absent means Node's own list. */
  readonly ca?: readonly string[] | undefined
  readonly userAgent: string
}

export interface Socket {
  send(text: string, onFlushed: () => void): void
  /** Bytes given to `send` that the network has not taken yet. */
  buffered(): number
  close(code: number, reason: string): void
  /** Ends at once, without the closing handshake; for a peer that may be gone. */
  abort(): void
}

const HANDSHAKE_MS = 10_000
/** A welcome lists every monitor of the key. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024
const MAX_PROBLEM_BYTES = 8192

/** `Retry-After` in milliseconds: seconds or a date (RFC 9110, 10.2.3). */
function readRetryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

/** The `detail`, else the `title`, of a problem document (RFC 9457); undefined for any other body. */
function readDetail(body: string): string | undefined {
  try {
    const problem: unknown = JSON.parse(body)
    if (typeof problem !== 'object' || problem === null) return undefined
    const { detail, title } = problem as Record<string, unknown>
    const text = detail ?? title
    return typeof text === 'string' ? text.slice(0, 300) : undefined
  } catch {
    // A proxy's HTML page: its status says enough.
    return undefined
  }
}

function readRefusal(response: IncomingMessage, onRead: (end: SocketEnd) => void): void {
  let body = ''
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    body += chunk
    if (body.length > MAX_PROBLEM_BYTES) response.destroy()
  })
  response.on('error', () => response.destroy())
  response.on('close', () => {
    const retryAfterMs = readRetryAfter(response.headers['retry-after'])
    const detail = readDetail(body)
    onRead({
      kind: 'refused',
      status: response.statusCode ?? 0,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(detail !== undefined && { detail })
    })
  })
}

/** Opens a socket to the gateway; it always ends with exactly one `onEnd`, and nothing is called after that. */
export function openSocket(options: SocketOptions, handlers: SocketHandlers): Socket {
  const ws = new WebSocket(options.url, SUBPROTOCOL, {
    headers: { Authorization: `Bearer ${options.apiKey}`, 'User-Agent': options.userAgent },
    handshakeTimeout: HANDSHAKE_MS,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    ...(options.ca !== undefined && { ca: [...options.ca] })
  })
  let ended = false
  let opened = false
  let failure = 'the connection ended before it was open'

  function end(how: SocketEnd): void {
    if (ended) return
    ended = true
    handlers.onEnd(how)
  }

  ws.on('open', () => {
    opened = true
    if (!ended) handlers.onOpen()
  })
  ws.on('message', (data, isBinary) => {
    if (!ended && !isBinary) handlers.onText(data.toString())
  })
  ws.on('ping', () => {
    if (!ended) handlers.onPing()
  })
  ws.on('unexpected-response', (_request, response) => {
    readRefusal(response, (refusal) => {
      end(refusal)
      ws.terminate()
    })
  })
  // A `close` always follows; before the opening its reason is here only.
  ws.on('error', (error) => {
    const advice = isUntrusted(error) ? '; name its CA file in NODE_EXTRA_CA_CERTS or in caFile' : ''
    failure = `${failureMessage(error)}${advice}`
  })
  ws.on('close', (code, reason) => {
    end(opened ? { kind: 'closed', code, reason: reason.toString() } : { kind: 'failed', message: failure })
  })

  return {
    send: (text, onFlushed) => ws.send(text, onFlushed),
    buffered: () => ws.bufferedAmount,
    close: (code, reason) => ws.close(code, reason),
    abort: () => ws.terminate()
  }
}
