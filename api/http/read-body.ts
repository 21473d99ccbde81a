import type { IncomingMessage } from 'node:http'
import { AppError } from '../../shared/errors.ts'

function tooLarge(limit: number): AppError {
  return new AppError('payload_too_large', { detail: `The body may have at most ${limit} bytes.` })
}

/** The whole body. @throws AppError payload_too_large, as soon as that is known; bad_request when the client went away. */
export function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > limit) return Promise.reject(tooLarge(limit))
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const finish = (error: AppError | null) => {
      request.off('data', take)
      request.off('end', end)
      request.off('error', abort)
      request.off('close', abort)
      if (error === null) resolve(Buffer.concat(chunks, size))
      else reject(error)
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) chunks.push(chunk)
      else finish(tooLarge(limit))
    }
    const end = () => finish(null)
    const abort = () => finish(new AppError('bad_request', { detail: 'The body did not arrive whole.' }))
    request.on('data', take)
    request.on('end', end)
    request.on('error', abort)
    request.on('close', abort)
  })
}

const JSON_TYPE = /^application\/(?:json|[\w.-]+\+json)\s*(?:;\s*charset=(?:"?utf-8"?)\s*)?$/i

/** Does the request bring a body, be it empty? */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** @throws AppError unsupported_media_type */
export function requireJsonType(request: IncomingMessage): void {
  if (!JSON_TYPE.test(request.headers['content-type'] ?? '')) {
    throw new AppError('unsupported_media_type', { detail: 'Send the body as Content-Type: application/json.' })
  }
  if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw new AppError('unsupported_media_type', { detail: 'Send the body without a Content-Encoding.' })
  }
}

/** Refuses what could poison an object that is merged later (`__proto__`); the reviver only runs where the word stands. */
function parseSafely(text: string): unknown {
  if (!/__proto__|\\u005f/i.test(text)) return JSON.parse(text)
  return JSON.parse(text, (key, value) => {
    if (key === '__proto__') throw new AppError('validation_failed', { detail: 'A field must not be named __proto__.' })
    return value
  })
}

/** The body as JSON. @throws AppError unsupported_media_type, payload_too_large, malformed_json, validation_failed */
export async function readJson(request: IncomingMessage, limit: number): Promise<unknown> {
  requireJsonType(request)
  const bytes = await readBytes(request, limit)
  try {
    return parseSafely(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new AppError('malformed_json', { detail: 'The body is not JSON in UTF-8.', cause: error })
  }
}
