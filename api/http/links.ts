import type { Addresses } from '../parts.ts'

/** Where to find what, by name. */
export function linksOf({ apiUrl, appUrl, siteUrl, ingestUrl }: Addresses) {
  return {
    app: appUrl,
    site: siteUrl,
    ingest: ingestUrl,
    openapi: `${apiUrl}/openapi.json`,
    asyncapi: `${apiUrl}/asyncapi.json`,
    docs: `${apiUrl}/docs`,
    status: `${apiUrl}/api/status`,
    ready: `${apiUrl}/readyz`,
    jwks: `${apiUrl}/.well-known/jwks.json`
  }
}

/** The same for programs that look at a page's headers (RFC 8631). */
export function linkHeaderOf(addresses: Addresses): string {
  const { openapi, docs, status } = linksOf(addresses)
  return [
    `<${openapi}>; rel="service-desc"; type="application/json"`,
    `<${docs}>; rel="service-doc"; type="text/html"`,
    `<${status}>; rel="status"; type="application/json"`
  ].join(', ')
}
