import { randomUUID } from 'node:crypto'
import type { SsoConnectionAnswer } from '../../shared/contract/sso.ts'
import { type Answer, apiFor, type TestApi } from './api.ts'
import type { Person } from './cast.ts'
import type { TearsDown } from './database.ts'
import { type DnsServer, dnsServerFor } from './dns-server.ts'
import { httpsFetch } from './https-fetch.ts'
import { type IdentityProvider, identityProviderFor, type Somebody } from './identity-provider.ts'
import type { Stores } from './ingest.ts'

/** Where the browser believes that Pulsegate is. */
export const ORIGIN = 'https://pulsegate.example.com'
const ADDRESSES = { apiUrl: ORIGIN, appUrl: ORIGIN, siteUrl: ORIGIN }

export interface SsoApi extends TestApi {
  entra: IdentityProvider
  google: IdentityProvider
  dns: DnsServer
}

type ApiOptions = Parameters<typeof apiFor>[2]

/** An API that both providers know, and a name server that it asks. */
export async function ssoApiFor(t: TearsDown, stores: Stores, options: ApiOptions = {}): Promise<SsoApi> {
  const redirectUri = (kind: string) => `${ORIGIN}/v1/auth/sso/${kind}/callback`
  const entra = await identityProviderFor(t, { kind: 'entra', redirectUri: redirectUri('entra') })
  const google = await identityProviderFor(t, { kind: 'google', redirectUri: redirectUri('google') })
  const dns = await dnsServerFor(t)
  const askEntra = httpsFetch(entra.ca)
  const askGoogle = httpsFetch(google.ca)
  const sso = {
    entra: entra.client,
    google: google.client,
    fetch: (...call: Parameters<typeof askEntra>) =>
      call[0].startsWith(google.client.issuer) ? askGoogle(...call) : askEntra(...call)
  }
  const api = await apiFor(t, stores, { ...options, sso, dns: dns.resolver, addresses: ADDRESSES })
  return { ...api, entra, google, dns }
}

/** Somebody whose account at Entra is in this directory. */
export function inDirectory(tid: string, name: string, claims: Record<string, unknown> = {}): Somebody {
  const email = `${name.toLowerCase()}@example.com`
  return { sub: `pairwise ${name}`, directory: tid, claims: { tid, oid: randomUUID(), name, email, ...claims } }
}

/** Somebody whose account at Google is of the Workspace of example.com. */
export function inWorkspace(name: string, claims: Record<string, unknown> = {}): Somebody {
  const email = `${name.toLowerCase()}@example.com`
  return { sub: `1${Date.now()}${name}`, claims: { hd: 'example.com', name, email, email_verified: true, ...claims } }
}

/** Binds the person's organization, and proves the domain in DNS. */
export async function bind(
  api: SsoApi,
  owner: Person,
  json: { provider: 'entra' | 'google'; tenant?: string; domain: string }
): Promise<SsoConnectionAnswer> {
  const made = await api.call('POST', '/v1/organization/sso', { as: owner.jwt, json })
  const { id, proof } = made.body as SsoConnectionAnswer
  api.dns.records.set(proof.name, [['v=spf1 -all'], [proof.value]])
  const proven = await api.call('POST', `/v1/organization/sso/${id}/verify`, { as: owner.jwt })
  if (proven.status !== 200) throw new Error(`not proven: ${JSON.stringify([made.body, proven.body])}`)
  return proven.body as SsoConnectionAnswer
}

interface Me {
  user: { id: string; email: string; name: string }
  organization: { id: string; name: string }
  role: string
}

export interface Browser {
  /** Cookies that it has for Pulsegate. */
  cookies: Map<string, string>
  /** Opens a page of Pulsegate, by its path. */
  open(path: string, headers?: Record<string, string>): Promise<Answer>
  /** Sends a form of a page of Pulsegate. */
  post(path: string, json: unknown): Promise<Answer>
  /** Goes to the provider and through its pages, up to the address that it sends the browser back to. */
  authenticate(authorizationUrl: string): Promise<string>
  /** The whole way of a sign-in from this path. Returns the path that it ends at. */
  signIn(path: string, headers?: Record<string, string>): Promise<string>
  /** Who is signed in here, or null. */
  whoAmI(): Promise<Me | null>
}

function take(jar: Map<string, string>, setCookie: string[]): void {
  for (const line of setCookie) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (/max-age=0|expires=thu, 01 jan 1970/i.test(line)) jar.delete(name)
    else jar.set(name, value)
  }
}

function cookieHeader(jar: Map<string, string>): Record<string, string> {
  return jar.size === 0 ? {} : { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') }
}

/** Path and query of an address of Pulsegate. @throws for another one */
export function pathOf(url: string): string {
  const { origin, pathname, search } = new URL(url)
  if (origin !== ORIGIN) throw new Error(`led out of Pulsegate: ${url}`)
  return pathname + search
}

/** A browser of somebody's own: it keeps cookies, and follows redirects when told to. */
export function createBrowser(api: SsoApi): Browser {
  const own = new Map<string, string>()
  const theirs = new Map<string, string>()
  const ask = (url: string) => {
    const idp = url.startsWith(api.google.client.issuer) ? api.google : api.entra
    return httpsFetch(idp.ca)(url, {
      method: 'GET',
      headers: cookieHeader(theirs),
      body: undefined,
      redirect: 'manual'
    })
  }

  const browser: Browser = {
    cookies: own,
    open: async (path, headers = {}) => {
      const answer = await api.call('GET', path, { headers: { ...cookieHeader(own), ...headers } })
      take(own, answer.headers.getSetCookie())
      return answer
    },
    post: async (path, json) => {
      const headers = { ...cookieHeader(own), origin: ORIGIN, 'sec-fetch-site': 'same-origin' }
      const answer = await api.call('POST', path, { json, headers })
      take(own, answer.headers.getSetCookie())
      return answer
    },
    authenticate: async (authorizationUrl) => {
      let url = authorizationUrl
      for (let step = 0; step < 10; step++) {
        const answer = await ask(url)
        take(theirs, answer.headers.getSetCookie())
        const location = answer.headers.get('location')
        if (location === null) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`)
        url = new URL(location, url).href
        if (url.startsWith(ORIGIN)) return url
      }
      throw new Error(`the provider leads in circles: ${url}`)
    },
    signIn: async (path, headers) => {
      const started = await browser.open(path, headers)
      const location = started.headers.get('location') ?? ''
      if (location.startsWith(ORIGIN)) return pathOf(location)
      const back = await browser.authenticate(location)
      const finished = await browser.open(pathOf(back))
      return pathOf(finished.headers.get('location') ?? '')
    },
    whoAmI: async () => {
      const { status, body } = await browser.open('/v1/me')
      return status === 200 ? (body as Me) : null
    }
  }
  return browser
}
