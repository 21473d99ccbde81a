import type { IncomingMessage } from 'node:http'
import type { Route } from '../../shared/contract/route.ts'
import { AppError } from '../../shared/errors.ts'
import { showsSession } from '../sign-in/sessions.ts'
import { hasBody, requireJsonType } from './read-body.ts'

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

/** What a browser does by itself: it sends the cookie, and tells who asks. A program does neither. */
function isByBrowser({ headers }: IncomingMessage): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined || showsSession(headers.cookie)
}

/**
 * No other site may act with a browser's session, nor sign it in or out. A bearer token is never sent by a browser by
 * itself, and a push URL is its own credential. @throws AppError cross_site, unsupported_media_type
 */
export function requireOwnSite(route: Route, request: IncomingMessage, appOrigin: string): void {
  const { method = '', headers } = request
  if (SAFE.has(method) || route.tag === 'Push URLs' || /^bearer /i.test(headers.authorization ?? '')) return
  if (!isByBrowser(request)) return
  if (headers['sec-fetch-site'] !== 'same-origin' && headers.origin !== appOrigin) {
    throw new AppError('cross_site', { detail: `From a browser this can be asked by pages of ${appOrigin} only.` })
  }
  if (hasBody(request)) requireJsonType(request)
}
