import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Addresses } from '../parts.ts'

function hostnameOf(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase()
}

/** The same path and query at the configured address whose host is the request's, else at APP_URL. */
export function secureAddress(request: IncomingMessage, { apiUrl, appUrl, siteUrl }: Addresses): string {
  const wanted = hostnameOf(request.headers.host ?? '')
  const base = [appUrl, apiUrl, siteUrl].find((address) => new URL(address).hostname === wanted) ?? appUrl
  // A target in absolute form (a proxy's) names its own host: only what follows it counts.
  const path = (request.url ?? '/').replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '')
  return new URL(base).origin + (path.startsWith('/') ? path : `/${path.startsWith('?') ? path : ''}`)
}

/** 308 keeps method and body. The body sent in the clear is not read, and the connection ends. */
export function redirect(request: IncomingMessage, response: ServerResponse, addresses: Addresses): void {
  response.writeHead(308, {
    Location: secureAddress(request, addresses),
    'Content-Length': 0,
    Connection: 'close'
  })
  response.end()
}
