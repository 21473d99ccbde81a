import type { ServerResponse } from 'node:http'
import type { Standing } from '../../shared/counts.ts'
import { AppError } from '../../shared/errors.ts'

/** Seconds of a window, as shared/counts.ts has them. */
const WINDOW_SECONDS = 60

/**
 * How a request stands to the limits that it was counted to. This module alone knows the two header names:
 * draft-ietf-httpapi-ratelimit-headers-11 may still change them.
 */
export function rateLimitHeaders(standings: readonly Standing[]): Record<string, string> {
  return {
    'RateLimit-Policy': standings.map(({ limit, points }) => `"${limit}";q=${points};w=${WINDOW_SECONDS}`).join(', '),
    RateLimit: standings
      .map(({ limit, remaining, secondsLeft }) => `"${limit}";r=${remaining};t=${secondsLeft}`)
      .join(', ')
  }
}

/** @throws AppError rate_limited when the last one refuses. */
export function requireQuota({ refused, limit, points, secondsLeft }: Standing): void {
  if (!refused) return
  throw new AppError('rate_limited', {
    detail: `The limit "${limit}" of ${points} requests a minute is reached. Try again in ${secondsLeft} s.`,
    retryAfterSeconds: secondsLeft
  })
}

/**
 * `Retry-After` must not name an earlier time than `RateLimit` does (§ 6.3 of the draft); where another rule than a quota
 * set it, `RateLimit` is left out.
 */
export function yieldToRetryAfter(response: ServerResponse): void {
  const seconds = Number(response.getHeader('Retry-After'))
  const shown = String(response.getHeader('RateLimit') ?? '')
  const latest = Math.max(0, ...[...shown.matchAll(/;t=(\d+)/g)].map(([, t]) => Number(t)))
  if (seconds < latest) response.removeHeader('RateLimit')
}
