import { parse, serialize } from 'cookie'

/**
 * For a name with `__Host-`: the browser takes it only over HTTPS, for this host alone and every path (RFC 6265bis
 * §4.1.3.2). Scripts do not see it. An empty value of no age takes it out of the browser.
 */
export function hostCookie(
  name: `__Host-${string}`,
  value: string,
  { maxAgeSeconds, sameSite }: { maxAgeSeconds: number; sameSite: 'lax' | 'strict' }
): string {
  return serialize(name, value, { httpOnly: true, secure: true, sameSite, path: '/', maxAge: maxAgeSeconds })
}

/** Of a `Cookie` header. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  return header === undefined ? undefined : parse(header)[name] || undefined
}
