import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { connect as connectPlain, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { LoadPlan } from './load-plan.ts'

/** A socket whose upgrade is done or under way. */
export interface LoadSocket {
  write(bytes: Buffer): void
  destroy(): void
}

export interface LoadSocketListener {
  onOpen(): void
  /** `bytes` holds the next `length` bytes only until this returns. */
  onBytes(bytes: Buffer, length: number): void
  onEnd(error: Error): void
}

/** All sockets of the process read into this one buffer: each read is used up before the next. */
const readBuffer = Buffer.allocUnsafe(262_144)
const certificates = new Map<string, Buffer>()

function certificate(file: string): Buffer {
  const known = certificates.get(file) ?? readFileSync(file)
  certificates.set(file, known)
  return known
}

function upgradeRequest(port: number, apiKey: string): string {
  return [
    'GET / HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
    'Sec-WebSocket-Protocol: heartbeat.v1',
    'X-Forwarded-Proto: https',
    `Authorization: Bearer ${apiKey}`,
    '\r\n'
  ].join('\r\n')
}

function connect({ port, caFile }: LoadPlan, onread: OnReadOpts, onConnect: () => void): Socket {
  const address = { host: '127.0.0.1', port, onread }
  if (caFile === null) return connectPlain(address, onConnect)
  return connectTls({ ...address, ca: certificate(caFile), servername: 'localhost' }, onConnect)
}

/** Opens a socket and upgrades it by hand: a WebSocket library would cost the generator more than the load itself. */
export function openLoadSocket(plan: LoadPlan, apiKey: string, listener: LoadSocketListener): LoadSocket {
  let answer = ''
  let open = false

  function readAnswer(bytes: Buffer): void {
    answer += bytes.toString('latin1')
    const end = answer.indexOf('\r\n\r\n')
    if (end < 0) return
    if (!answer.startsWith('HTTP/1.1 101')) {
      listener.onEnd(new Error(`the upgrade was refused: ${answer.slice(0, 300)}`))
      return
    }
    open = true
    const rest = Buffer.from(answer.slice(end + 4), 'latin1')
    listener.onOpen()
    if (rest.length > 0) listener.onBytes(rest, rest.length)
  }

  const onread: OnReadOpts = {
    buffer: readBuffer,
    callback(length) {
      if (open) listener.onBytes(readBuffer, length)
      else readAnswer(readBuffer.subarray(0, length))
      return true
    }
  }
  const socket = connect(plan, onread, () => socket.write(upgradeRequest(plan.port, apiKey)))
  socket.setNoDelay(true)
  socket.on('error', (error) => listener.onEnd(error))
  socket.on('close', () => listener.onEnd(new Error(`the socket was closed ${open ? 'after' : 'before'} its upgrade`)))
  return { write: (bytes) => socket.write(bytes), destroy: () => socket.destroy() }
}
