import type { ServerResponse } from 'node:http'
import type { Log } from '../../shared/log.ts'
import type { Metrics } from '../../shared/metrics.ts'

/** What is known of a request when its answer has gone out. */
export interface RequestFacts {
  method: string
  /** The contract's path, never the real one: that may hold a push token. */
  route: string | null
  log: Log
}

export type FollowRequest = (response: ServerResponse, facts: RequestFacts) => void

/** One line and one count per answer. */
export function createRequestLog(metrics: Metrics): FollowRequest {
  const requests = metrics.counter('pulsegate_http_requests_total', 'status')
  const seconds = metrics.histogram('pulsegate_http_request_seconds')
  return (response, facts) => {
    const startedAt = performance.now()
    response.on('close', () => {
      const ms = performance.now() - startedAt
      requests.inc({ status: `${Math.floor(response.statusCode / 100)}xx` })
      seconds.observe(ms / 1000)
      facts.log.info({
        method: facts.method,
        route: facts.route,
        status: response.statusCode,
        ms: Math.round(ms * 10) / 10,
        ...(response.writableFinished ? {} : { aborted: true }),
        msg: 'answered'
      })
    })
  }
}
