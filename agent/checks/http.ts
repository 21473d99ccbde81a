import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { AgentMonitor } from '../../shared/protocol/frames.ts'
import { failureMessage } from '../failure-message.ts'
import { beginCheck, type Check, timeoutMessage } from './check.ts'

export interface HttpCheckOptions {
  /** Every authority to trust; absent means Node's own list. */
  readonly ca?: readonly string[] | undefined
  readonly userAgent: string
}

interface Request {
  readonly url: URL
  readonly method: string
}

interface Answer {
  readonly status: number
  /** Where a redirect that is to be followed leads. */
  readonly location?: string
}

interface Surroundings {
  readonly userAgent: string
  readonly secureContext: SecureContext | undefined
  readonly signal: AbortSignal
}

const MOST_REDIRECTS = 5
/** A monitor asks whether a page answers, not for the page: after this much it has. */
const MOST_BODY_BYTES = 1024 * 1024
const REDIRECTS = new Set([301, 302, 303, 307, 308])

function expectation(monitor: AgentMonitor): (status: number) => boolean {
  const expected = monitor.settings?.expectedStatuses
  if (expected === undefined) return (status) => status >= 200 && status <= 399
  return (status) => expected.includes(status)
}

/** Reads the body to its end or to the cap, so that an answer that breaks off is seen. */
function discardBody(response: IncomingMessage, onRead: () => void): void {
  let bytes = 0
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes < MOST_BODY_BYTES) return
    onRead()
    response.destroy()
  })
  response.on('end', onRead)
}

/** The next address of a redirect, unless the monitor expects this very status as its answer. */
function redirectOf(response: IncomingMessage, monitor: AgentMonitor): string | undefined {
  const status = response.statusCode ?? 0
  if (!REDIRECTS.has(status) || monitor.settings?.expectedStatuses?.includes(status)) return undefined
  return response.headers.location
}

function ask({ url, method }: Request, monitor: AgentMonitor, around: Surroundings): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { request } = url.protocol === 'https:' ? https : http
    const sent = request(url, {
      method,
      // A connection of its own: a check has to look the name up, connect and shake hands, as a visitor would.
      agent: false,
      signal: around.signal,
      headers: { 'User-Agent': around.userAgent, Accept: '*/*' },
      ...(around.secureContext !== undefined && { secureContext: around.secureContext })
    })
    sent.on('error', reject)
    sent.on('response', (response) => {
      response.on('error', reject)
      const status = response.statusCode ?? 0
      const location = redirectOf(response, monitor)
      if (location === undefined) {
        discardBody(response, () => resolve({ status }))
        return
      }
      resolve({ status, location })
      response.destroy()
    })
    sent.end()
  })
}

function nextRequest({ url, method }: Request, status: number, location: string): Request {
  const next = new URL(location, url)
  if (next.protocol !== 'http:' && next.protocol !== 'https:') {
    throw new Error(`redirected to ${next.protocol} which is not HTTP`)
  }
  // RFC 9110, 15.4: after 303, and by custom after 301 and 302, anything but HEAD goes on as GET.
  const keeps = status === 307 || status === 308 || method === 'HEAD'
  return { url: next, method: keeps ? method : 'GET' }
}

async function follow(monitor: AgentMonitor, around: Surroundings): Promise<Answer> {
  let request: Request = { url: new URL(monitor.target ?? ''), method: monitor.settings?.method ?? 'GET' }
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const answer = await ask(request, monitor, around)
    if (answer.location === undefined) return answer
    request = nextRequest(request, answer.status, answer.location)
  }
  throw new Error(`more than ${MOST_REDIRECTS} redirects`)
}

/**
 * A check of a URL: up when the answer after redirects has an expected status (200–399 unless said) and arrives whole, at
 * least its first mebibyte, in time. Latency runs from the name look-up to the end of that.
 */
export function createHttpCheck({ ca, userAgent }: HttpCheckOptions): Check {
  // Made once: reading all authorities anew costs some milliseconds that would count as latency.
  const secureContext = ca === undefined ? undefined : createSecureContext({ ca: [...ca] })
  return async (monitor, signal) => {
    const outcome = beginCheck(monitor)
    const isExpected = expectation(monitor)
    try {
      const { status } = await follow(monitor, { userAgent, secureContext, signal })
      if (isExpected(status)) return outcome.good()
      return outcome.bad(`HTTP ${status} ${http.STATUS_CODES[status] ?? ''}`.trim())
    } catch (error) {
      return outcome.bad(signal.aborted ? timeoutMessage(monitor) : failureMessage(error))
    }
  }
}
