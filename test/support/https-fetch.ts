import { request } from 'node:https'
import type { ApiOptions } from '../../api/server.ts'

type Fetch = NonNullable<ApiOptions['parts']['sso']['fetch']>

/** `fetch` that trusts one authority; Node's own takes others only from its environment. Redirects are not followed. */
export function httpsFetch(ca: Buffer): Fetch {
  return (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const fail = (cause: Error) => reject(new TypeError('fetch failed', { cause }))
      const sent = request(url, { method, headers, ca, agent: false, ...(signal ? { signal } : {}) })
      sent.on('error', fail)
      sent.on('response', (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('error', fail)
        response.on('end', () => {
          const { statusCode: status = 0, headersDistinct } = response
          const received = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
            values.map((value): [string, string] => [name, value])
          )
          resolve(new Response(parts.length === 0 ? null : Buffer.concat(parts), { status, headers: received }))
        })
      })
      sent.end(body === null || body === undefined ? undefined : String(body))
    })
}
