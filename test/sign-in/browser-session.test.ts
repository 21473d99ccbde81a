import { t } from 'tap'
import type { SessionAnswer, SignedIn } from '../../shared/contract/auth.ts'
import { apiFor } from '../support/api.ts'
import { cookieOf, openBrowser } from '../support/browser.ts'
import { createCast, PASSWORD, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'

const DAY = 86_400_000

const stores = await openStores(t)
let ahead = 0
const api = await apiFor(t, stores, {
  clock: () => Date.now() + ahead,
  rateLimitScale: 100,
  signInPoints: { account: 1000, address: 1000 }
})
const { alice, bob, charlie, agent, pushMonitor } = await createCast(api)
const founded = await api.call('POST', '/v1/organizations', { as: bob.jwt, json: { name: "Bob's" } })
const bobs = (founded.body as SignedIn).organization.id
const credentials = { email: alice.email, password: PASSWORD }
t.afterEach(() => {
  ahead = 0
})

t.test('sign-in gives the browser a cookie that scripts and other sites cannot get at', async (t) => {
  const answer = await api.call('POST', '/v1/auth/login', { json: credentials })
  const line = answer.headers.getSetCookie().join()
  t.match(line, /^__Host-session=[0-9A-Za-z]{43};/)
  for (const attribute of ['Path=/', 'HttpOnly', 'Secure', 'SameSite=Lax', 'Max-Age=2592000']) t.match(line, attribute)
  t.notMatch(line, /domain/i)
})

t.test('the cookie is as good as a JWT, and an Authorization header wins over it', async (t) => {
  const browser = openBrowser(api)
  await browser.signIn(alice.email)
  t.match((await browser.call('GET', '/v1/me')).body, { user: { id: alice.id }, role: 'owner' })
  const posted = await browser.call('PATCH', '/v1/me', { json: { name: 'Alice' } })
  t.equal(posted.status, 200)
  t.match((await browser.call('GET', '/v1/me', { as: charlie.jwt })).body, { user: { id: charlie.id } })
  expectProblem(t, await browser.call('GET', '/v1/me', { as: 'nonsense' }), 401, 'unauthorized')
})

t.test('a cookie ends at sign-out, after 14 days without use, and after 30 days', async (t) => {
  const [left, idle, old] = [openBrowser(api), openBrowser(api), openBrowser(api)]
  for (const browser of [left, idle, old]) await browser.signIn(alice.email)
  const [leftCookie] = [left.cookie()]
  t.equal((await left.call('POST', '/v1/auth/logout')).status, 204)
  t.equal(left.cookie(), '')
  expectProblem(t, await api.call('GET', '/v1/me', { headers: { cookie: leftCookie } }), 401, 'unauthorized')
  for (const day of [10, 20, 29]) {
    ahead = day * DAY
    t.equal((await old.call('GET', '/v1/me')).status, 200, `day ${day}`)
  }
  expectProblem(t, await idle.call('GET', '/v1/me'), 401, 'unauthorized')
  ahead = 30 * DAY + 1000
  expectProblem(t, await old.call('GET', '/v1/me'), 401, 'unauthorized')
})

t.test('another site can neither act for a browser nor sign it in or out', async (t) => {
  const browser = openBrowser(api)
  await browser.signIn(alice.email)
  const strangers: Array<Record<string, string>> = [
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example.com' },
    { 'sec-fetch-site': 'same-site', origin: 'https://sub.localhost' },
    { 'sec-fetch-site': 'none' },
    { origin: 'https://evil.example.com' },
    { origin: 'null' },
    { origin: `${api.apiUrl}.example.com` }
  ]
  for (const given of strangers) {
    const headers = { 'sec-fetch-site': '', origin: '', ...given }
    for (const [name, value] of Object.entries(headers)) if (value === '') Reflect.deleteProperty(headers, name)
    const asked = { headers: { ...headers, cookie: browser.cookie() } }
    const name = JSON.stringify(given)
    t.match((await api.call('PATCH', '/v1/me', { ...asked, json: {} })).body, { code: 'cross_site' }, name)
    t.match((await api.call('POST', '/v1/auth/logout', asked)).body, { code: 'cross_site' }, name)
    t.match((await api.call('DELETE', '/v1/me/sessions', asked)).body, { code: 'cross_site' }, name)
    t.match(
      (await api.call('POST', '/v1/auth/login', { headers, json: credentials })).body,
      { code: 'cross_site' },
      name
    )
    t.equal((await api.call('GET', '/v1/me', asked)).status, 200, 'to read is safe: other sites do not see the answer')
  }
  const bare = { headers: { cookie: browser.cookie() }, json: {} }
  expectProblem(t, await api.call('PATCH', '/v1/me', bare), 403, 'cross_site')
})

t.test('pages of the dashboard may, by what either header says, and programs always', async (t) => {
  const browser = openBrowser(api)
  await browser.signIn(alice.email)
  const cookie = browser.cookie()
  const allowed: Array<Record<string, string>> = [
    { 'sec-fetch-site': 'same-origin', cookie },
    { origin: api.apiUrl, cookie },
    { 'sec-fetch-site': 'cross-site', origin: api.apiUrl, cookie },
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example.com', authorization: `Bearer ${alice.jwt}` }
  ]
  for (const headers of allowed) {
    t.equal((await api.call('PATCH', '/v1/me', { headers, json: {} })).status, 200, JSON.stringify(headers))
  }
  t.equal((await api.call('POST', '/v1/auth/login', { json: credentials })).status, 200)
})

t.test('the site of the dashboard is that of APP_URL', async (t) => {
  const own = await apiFor(t, stores, { addresses: { appUrl: 'https://app.example.com' } })
  const from = (origin: string) =>
    own.call('POST', '/v1/auth/login', { json: credentials, headers: { origin, 'sec-fetch-site': 'same-site' } })
  t.equal((await from('https://app.example.com')).status, 200)
  expectProblem(t, await from(own.apiUrl), 403, 'cross_site')
})

t.test('a browser has to send JSON, as no form of another site can', async (t) => {
  const browser = openBrowser(api)
  await browser.signIn(alice.email)
  for (const path of ['/v1/auth/logout', '/v1/auth/login']) {
    const form = { body: 'a=b', headers: { 'content-type': 'text/plain' } }
    expectProblem(t, await browser.call('POST', path, form), 415, 'unsupported_media_type')
  }
})

t.test('a push URL asks nobody where a request comes from', async (t) => {
  const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://status.example.com' }
  t.equal((await api.call('POST', pushMonitor.pushPath, { headers })).status, 200)
})

t.test('to sign in again renews the session: a new cookie, and the old one is void', async (t) => {
  const browser = openBrowser(api)
  await browser.signIn(alice.email)
  const before = browser.cookie()
  await browser.signIn(alice.email)
  t.not(browser.cookie(), before)
  expectProblem(t, await api.call('GET', '/v1/me', { headers: { cookie: before } }), 401, 'unauthorized')
  t.equal((await browser.call('GET', '/v1/me')).status, 200)
})

t.test('a wrong password leaves the session that there is', async (t) => {
  const browser = openBrowser(api)
  await browser.signIn(alice.email)
  expectProblem(t, await browser.signIn(alice.email, { password: 'wrong' }), 401, 'invalid_credentials')
  t.equal((await browser.call('GET', '/v1/me')).status, 200)
})

t.test('the session tells who is signed in and where else they belong', async (t) => {
  const browser = openBrowser(api)
  await browser.signIn(bob.email, { organizationId: alice.organizationId })
  const { status, body } = await browser.call('GET', '/v1/auth/session')
  t.equal(status, 200)
  const session = body as SessionAnswer
  t.match(session, {
    user: { id: bob.id, email: bob.email },
    organization: { id: alice.organizationId },
    role: 'member'
  })
  t.match(
    session.organizations?.map(({ name, role }) => ({ name, role })),
    [
      { name: "Alice's", role: 'member' },
      { name: "Bob's", role: 'owner' }
    ]
  )
  t.ok(Date.now() - Date.parse(session.authenticatedAt ?? '') < 60_000)
})

t.test('the session of nobody is null, never an error', async (t) => {
  const shown: Array<Record<string, string>> = [
    {},
    { cookie: '__Host-session=unknown' },
    { authorization: 'Bearer nonsense' },
    { authorization: 'Basic YTpi' },
    { authorization: `Bearer ${agent.apiKey}` }
  ]
  for (const headers of shown) {
    const { status, body } = await api.call('GET', '/v1/auth/session', { headers })
    t.match({ status, body }, { status: 200, body: { user: null } })
  }
  const dora = await signUp(api, 'Dora')
  await stores.db.query('update organizations set suspended_at = now() where id = $1', [dora.organizationId])
  t.same((await api.call('GET', '/v1/auth/session', { as: dora.jwt })).body, { user: null })
})

t.test('the ways to sign in are told', async (t) => {
  const { body } = await api.call('GET', '/v1/auth/methods')
  t.match(body, { password: true, entra: false, google: false, passwordReset: false })
})

t.test('a person switches between organizations without a new sign-in', async (t) => {
  const browser = openBrowser(api)
  await browser.signIn(bob.email, { organizationId: bobs })
  const before = browser.cookie()
  ahead = 11 * 60_000
  const json = { organizationId: alice.organizationId }
  const { status, body } = await browser.call('POST', '/v1/auth/switch', { json })
  t.equal(status, 200)
  t.match(body, { jwt: /^eyJ/, organization: { id: alice.organizationId } })
  t.match((await browser.call('GET', '/v1/me')).body, { organization: { id: alice.organizationId } })
  expectProblem(t, await api.call('GET', '/v1/me', { headers: { cookie: before } }), 401, 'unauthorized')
  const { authenticatedAt } = (await browser.call('GET', '/v1/auth/session')).body as SessionAnswer
  t.ok(Date.now() + ahead - Date.parse(authenticatedAt ?? '') > 10 * 60_000, 'which proves nothing anew')
})

t.test('switching does not prolong a session: 30 days after the sign-in it ends', async (t) => {
  const browser = openBrowser(api)
  await browser.signIn(bob.email)
  for (const [day, organizationId] of [
    [10, bobs],
    [20, bob.organizationId],
    [29, bobs]
  ] as const) {
    ahead = day * DAY
    const switched = await browser.call('POST', '/v1/auth/switch', { json: { organizationId } })
    t.equal(switched.status, 200, `day ${day}`)
    const left = Number(/max-age=(\d+)/i.exec(switched.headers.getSetCookie().join())?.[1])
    t.ok(left <= (30 - day) * 86_400 && left > (29.9 - day) * 86_400, `the cookie is kept for ${left} s`)
  }
  ahead = 30 * DAY + 1000
  expectProblem(t, await browser.call('GET', '/v1/me'), 401, 'unauthorized')
})

t.test('nobody switches into an organization of others, or where single sign-on is asked for', async (t) => {
  const into = (organizationId: string) =>
    api.call('POST', '/v1/auth/switch', { as: bob.jwt, json: { organizationId } })
  expectProblem(t, await into(charlie.organizationId), 404, 'not_found')
  await stores.db.query('update organizations set sso_required = true where id = $1', [bobs])
  // Bob of the cast signed in to Alice's organization; his own one asks for more.
  expectProblem(t, await into(bobs), 403, 'sso_required')
  const json = { email: bob.email, password: PASSWORD }
  const own = await api.call('POST', '/v1/auth/login', { json: { ...json, organizationId: bobs } })
  expectProblem(t, own, 401, 'invalid_credentials')
  t.match((await api.call('POST', '/v1/auth/login', { json })).body, { organization: { id: alice.organizationId } })
})

t.test('an answer that signs nobody in sets no cookie', async (t) => {
  const answer = await api.call('POST', '/v1/auth/login', { json: { ...credentials, password: 'wrong' } })
  t.equal(cookieOf(answer), undefined)
})
