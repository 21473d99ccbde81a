import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export interface RawAnswer {
  statusLine: string
  status: number
  /** In the order and spelling of the wire, doubled ones twice. */
  headers: Array<[name: string, value: string]>
  body: string
  /** The value of a header by its lower-case name; undefined when absent, joined with ", " when doubled. */
  header(name: string): string | undefined
}

interface Target {
  port: number
  host?: string
  /** The CA in PEM of a server that speaks TLS; absent for plain TCP. */
  ca?: string | Buffer
  /** How long the server may take to close or complete its answer, in milliseconds. */
  timeoutMs?: number
}

function open({ port, host = 'localhost', ca }: Target): Socket {
  return ca === undefined ? connect({ port, host }) : connectTls({ port, host, ca, servername: host })
}

/** The length that the head promises, or undefined: then the end of the connection ends the body. */
function promisedLength(head: string): number | undefined {
  if (/^HTTP\/1\.1 (1\d\d|204|304)/.test(head)) return 0
  const text = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  return text === undefined ? undefined : Number(text)
}

function isComplete(received: Buffer): boolean {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return false
  const head = received.subarray(0, end).toString('latin1')
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return received.subarray(end).includes('\r\n0\r\n\r\n')
  const length = promisedLength(head)
  return length !== undefined && received.length >= end + 4 + length
}

function parse(received: Buffer): RawAnswer {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) throw new Error(`Not an HTTP answer: ${JSON.stringify(received.toString('latin1').slice(0, 200))}`)
  const [statusLine = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n')
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
  return {
    statusLine,
    status: Number(statusLine.split(' ')[1]),
    headers,
    body: received.subarray(end + 4).toString('utf8'),
    header: (name) => {
      const values = headers.filter(([given]) => given.toLowerCase() === name).map(([, value]) => value)
      return values.length === 0 ? undefined : values.join(', ')
    }
  }
}

/**
 * Sends these very bytes and reads one answer, so that malformed requests and the exact headers of every server can be
 * tested. Chunked bodies are returned as they came.
 * @throws when the connection fails, ends without an answer, or `timeoutMs` (default 5,000) pass.
 */
export function rawRequest(target: Target, bytes: string | Buffer): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = open(target)
    let received: Buffer = Buffer.alloc(0)
    const finish = (error?: Error) => {
      socket.destroy()
      if (error !== undefined && received.length === 0) reject(error)
      else {
        try {
          resolve(parse(received))
        } catch (fault) {
          reject(fault)
        }
      }
    }
    socket.setTimeout(target.timeoutMs ?? 5000, () => finish(new Error('The server did not answer in time.')))
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      if (isComplete(received)) finish()
    })
    socket.on('error', finish)
    socket.on('end', () => finish())
    socket.write(bytes)
  })
}
