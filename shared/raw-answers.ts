import { type IncomingMessage, type Server, type ServerOptions, ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { AppError, PROBLEM_TYPE, SECURITY_HEADERS, toProblem } from './errors.ts'
import type { ErrorCode } from './protocol/errors.ts'

/**
 * Node answers some requests itself, before any handler: broken ones (400), missing Host, Expect (417), header overflow
 * (431), time-outs (408), and it cuts CONNECT without a word. These hooks give all of those the two security headers and a
 * problem body; each part alone misses some. An upgrade that nobody asked for needs none: without a listener for it Node
 * treats the request as the plain one that it also is (RFC 9110 §7.8).
 */
class SecuredResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
  constructor(req: R) {
    super(req)
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) this.setHeader(name, value)
  }
}

/** Server options that put the headers on every answer, those of Node itself included. */
export function withSecurityHeaders(): ServerOptions {
  return { ServerResponse: SecuredResponse }
}

const REASONS: Record<number, string> = {
  400: 'Bad Request',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  426: 'Upgrade Required',
  431: 'Request Header Fields Too Large'
}

function rawAnswer(code: ErrorCode): string {
  const problem = toProblem(new AppError(code))
  const body = JSON.stringify(problem)
  const headers = Object.entries(SECURITY_HEADERS)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  return (
    `HTTP/1.1 ${problem.status} ${REASONS[problem.status] ?? 'Error'}\r\n${headers}` +
    `Content-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
  )
}

function codeOf(error: NodeJS.ErrnoException): ErrorCode {
  if (error.code === 'HPE_HEADER_OVERFLOW') return 'header_fields_too_large'
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout'
  return 'bad_request'
}

function endWith(socket: Duplex, code: ErrorCode): void {
  socket.on('error', () => socket.destroy())
  if (socket.writable) socket.end(rawAnswer(code))
  else socket.destroy()
}

/** Answers what no handler sees. */
export function answerRawErrors(server: Server | TlsServer): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ECONNRESET') socket.destroy()
    else endWith(socket, codeOf(error))
  })
  server.on('connect', (_req: IncomingMessage, socket: Duplex) => endWith(socket, 'method_not_allowed'))
}
