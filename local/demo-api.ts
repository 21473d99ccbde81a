import { request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'

export interface ApiAnswer {
  status: number
  body: unknown
}

export interface DemoApi {
  /** Sends JSON to the installation's own API over loopback. Resolves with any answer, rejects when there is none. */
  call(method: string, path: string, body?: unknown, bearer?: string): Promise<ApiAnswer>
  /** The same, for what must succeed: rejects with the answer's own words. */
  must(method: string, path: string, body?: unknown, bearer?: string): Promise<Record<string, unknown>>
}

const TIMEOUT_MS = 10_000

function parse(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    // Some answers are plain text, those of push URLs among them.
    return text
  }
}

/** A client of the API on this machine's `port`. Its certificate is not checked: it is our own child, on loopback. */
export function openDemoApi(port: number, secure: boolean): DemoApi {
  const request = secure ? tlsRequest : plainRequest
  const call: DemoApi['call'] = (method, path, body, bearer) =>
    new Promise((resolve, reject) => {
      const payload = body === undefined ? undefined : JSON.stringify(body)
      const headers = {
        ...(payload === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` })
      }
      const place = { host: '127.0.0.1', servername: 'localhost', port, agent: false, rejectUnauthorized: false }
      const asked = request({ ...place, method, path, headers, timeout: TIMEOUT_MS }, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part
        })
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: parse(text) }))
        answer.on('error', reject)
      })
      asked.on('timeout', () => asked.destroy(new Error(`no answer to ${method} ${path} within 10 s`)))
      asked.on('error', reject)
      asked.end(payload)
    })
  return {
    call,
    must: async (method, path, body, bearer) => {
      const answer = await call(method, path, body, bearer)
      if (answer.status < 300) return answer.body as Record<string, unknown>
      throw new Error(`${method} ${path} was answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    }
  }
}
