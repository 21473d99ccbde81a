import type { Answer, CallOptions, TestApi } from './api.ts'
import { PASSWORD } from './cast.ts'

/** The session's cookie that an answer sets, as `name=value`; undefined when it sets none. */
export function cookieOf({ headers }: Answer): string | undefined {
  return headers
    .getSetCookie()
    .find((line) => line.startsWith('__Host-session='))
    ?.split(';')[0]
}

export interface Browser {
  /** Sends what a page of the dashboard would, with the cookie that it has by then. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  /** Signs in by password. */
  signIn(email: string, more?: object): Promise<Answer>
  /** `name=value`, or empty. */
  cookie(): string
}

/** A browser that shows the dashboard: it keeps the session's cookie and tells which site asks. */
export function openBrowser(api: TestApi): Browser {
  let cookie = ''
  const call: Browser['call'] = async (method, path, options = {}) => {
    const own = { 'sec-fetch-site': 'same-origin', origin: api.apiUrl, ...(cookie === '' ? {} : { cookie }) }
    const answer = await api.call(method, path, { ...options, headers: { ...own, ...options.headers } })
    const given = cookieOf(answer)
    if (given !== undefined) cookie = given.endsWith('=') ? '' : given
    return answer
  }
  return {
    call,
    signIn: (email, more = {}) => call('POST', '/v1/auth/login', { json: { email, password: PASSWORD, ...more } }),
    cookie: () => cookie
  }
}
