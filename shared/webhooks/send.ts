import { type ClientRequest, request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import { type AddressGuard, AddressRefused } from './address-guard.ts'
import { signedHeaders } from './signature.ts'

export interface Message {
  /** The webhook-id: the same for every try, so that the receiver can tell them apart from new ones. */
  id: string
  url: string
  secret: string
  body: string
}

/** How one try went. */
export interface Outcome {
  delivered: boolean
  /** Null: no answer came. */
  statusCode: number | null
  /** Why it was not delivered; a sentence for people. */
  error: string | null
  /** How the answer began. */
  response: string | null
}

/** From looking the host up to the last byte of the answer. */
const TIMEOUT_MS = 10_000
/** So much of an answer is kept; the rest is not read. */
const RESPONSE_BYTES = 1024

function errorOf(error: Error, timedOut: boolean): string {
  if (timedOut) return `No answer within ${TIMEOUT_MS / 1000} s.`
  if (error instanceof AddressRefused) return `${error.message}.`
  const { code } = error as NodeJS.ErrnoException
  return code === undefined ? error.message : `${code}: ${error.message}`
}

/** PostgreSQL cannot store U+0000. */
function storable(bytes: Buffer): string {
  return bytes.toString('utf8').replaceAll('\u0000', '\uFFFD')
}

function judge(statusCode: number, body: Buffer): Outcome {
  const response = storable(body)
  if (statusCode >= 200 && statusCode < 300) return { delivered: true, statusCode, error: null, response }
  const redirect = statusCode >= 300 && statusCode < 400
  const error = redirect ? `Answered ${statusCode}; redirects are not followed.` : `Answered ${statusCode}.`
  return { delivered: false, statusCode, error, response }
}

function readAnswer(request: ClientRequest): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    request.on('error', reject)
    request.on('response', (response) => {
      const parts: Buffer[] = []
      let length = 0
      const finish = () => {
        resolve(judge(response.statusCode ?? 0, Buffer.concat(parts).subarray(0, RESPONSE_BYTES)))
        // An answer without end would hold the connection.
        request.destroy()
      }
      response.on('error', reject)
      response.on('end', finish)
      response.on('data', (part: Buffer) => {
        parts.push(part)
        length += part.length
        if (length >= RESPONSE_BYTES) finish()
      })
    })
  })
}

/** Sends one signed message, once. Never throws: what goes wrong is the outcome. `signal` ends it early. */
export async function sendWebhook(
  { id, url, secret, body }: Message,
  guard: AddressGuard,
  now: number,
  signal?: AbortSignal
): Promise<Outcome> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const target = new URL(url)
    // node:http looks a name up by our function, but takes an address as it stands.
    if (!/[a-z]/i.test(target.hostname) || target.hostname.startsWith('[')) await guard.resolve(target.hostname)
    const request = (target.protocol === 'https:' ? requestSecure : requestPlain)(target, {
      method: 'POST',
      agent: false,
      lookup: guard.lookup,
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': 'Pulsegate-Webhook/1',
        connection: 'close',
        ...signedHeaders(secret, id, now, body)
      }
    })
    const answer = readAnswer(request)
    request.end(body)
    return await answer
  } catch (error) {
    const fault = error instanceof Error ? error : new Error(String(error))
    return { delivered: false, statusCode: null, error: errorOf(fault, timeout.aborted), response: null }
  }
}
