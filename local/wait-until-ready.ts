import { request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'

interface Options {
  port: number
  secure: boolean
  /** Told every 5 s what is still missing. */
  progress(missing: string): void
  signal: AbortSignal
}

interface Answer {
  status: number
  body: string
}

function ask({ port, secure }: Options): Promise<Answer> {
  const request = secure ? tlsRequest : plainRequest
  return new Promise((resolve, reject) => {
    // Our own process on loopback: the certificate may be for other names, and nothing secret is sent.
    const options = {
      host: '127.0.0.1',
      port,
      path: '/readyz',
      agent: false,
      rejectUnauthorized: false,
      timeout: 3_000
    }
    const asked = request(options, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }))
      answer.on('error', reject)
    })
    asked.on('timeout', () => asked.destroy(new Error('no answer within 3 s')))
    asked.on('error', reject)
    asked.end()
  })
}

function missingIn(body: string): string {
  try {
    const { missing } = JSON.parse(body) as { missing?: unknown }
    return Array.isArray(missing) ? missing.join(', ') : body
  } catch {
    // Not our JSON: shown as it is.
    return body
  }
}

const POLL_MS = 50
const PROGRESS_MS = 5_000

/** Waits until `/readyz` of the API says that the whole installation is ready. Rejects only when aborted, with the reason. */
export async function waitUntilReady(options: Options): Promise<void> {
  let said = Date.now()
  for (;;) {
    options.signal.throwIfAborted()
    const answer = await ask(options).catch((error: Error) => ({ status: 0, body: `the API (${error.message})` }))
    if (answer.status === 200) return
    if (Date.now() - said > PROGRESS_MS) {
      said = Date.now()
      options.progress(missingIn(answer.body))
    }
    // An aborted pause rejects with an error of its own; the loop's first line throws the reason instead.
    await sleep(POLL_MS, undefined, { signal: options.signal }).catch(() => undefined)
  }
}
