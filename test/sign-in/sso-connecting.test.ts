import { type Test, t } from 'tap'
import type { SignedIn } from '../../shared/contract/auth.ts'
import { auditOf } from '../support/audit-trail.ts'
import { invite, join, PASSWORD, type Person, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'
import { type Browser, bind, createBrowser, inDirectory, inWorkspace, ssoApiFor } from '../support/sso.ts'

const TENANT = '11111111-1111-4111-8111-111111111111'
const SAME_SITE = { 'sec-fetch-site': 'same-origin' }
const PENDING = '__Host-sso-pending'
const ASKED = '/login?error=sign_in_first&provider=google&next='

const stores = await openStores(t)
let ahead = 0
const api = await ssoApiFor(t, stores, {
  clock: () => Date.now() + ahead,
  signInPoints: { account: 5, address: 1000 },
  rateLimitScale: 100
})
const alice = await signUp(api, 'Alice')
await bind(api, alice, { provider: 'entra', tenant: TENANT, domain: 'example.com' })
const google = await bind(api, alice, { provider: 'google', domain: 'example.com' })

/** A browser whose identity waits for the password of the account with its address. */
async function waiting(t: Test, name: string, query = ''): Promise<Browser> {
  api.google.person = inWorkspace(name)
  const browser = createBrowser(api)
  t.match(await browser.signIn(`/v1/auth/sso/google?returnTo=/agents${query}`), `${ASKED}%2Fagents`)
  return browser
}

function connect(browser: Browser, { email }: Pick<Person, 'email'>, password = PASSWORD) {
  return browser.post('/v1/auth/login', { email, password, connect: true })
}

async function countIdentities({ id }: Person): Promise<number> {
  return (await stores.db.query('select from identities where user_id = $1', [id])).length
}

t.test('a member with a password comes in by it once where single sign-on is required', async (t) => {
  const bob = await join(api, alice.jwt, 'Bob')
  const owner = createBrowser(api)
  await owner.post('/v1/auth/login', { email: alice.email, password: PASSWORD })
  api.entra.person = inDirectory(TENANT, 'Alice')
  t.equal(await owner.signIn('/v1/auth/sso/entra?link=1', SAME_SITE), '/')
  t.equal(await owner.signIn('/v1/auth/sso/entra'), '/')
  const require = (required: boolean) => {
    const cookie = `__Host-session=${owner.cookies.get('__Host-session')}`
    return api.call('PATCH', '/v1/organization/sso', { json: { required }, headers: { ...SAME_SITE, cookie } })
  }
  t.equal((await require(true)).status, 200)
  const browser = await waiting(t, 'Bob')
  const person = api.google.person
  const byPassword = await browser.post('/v1/auth/login', { email: bob.email, password: PASSWORD })
  expectProblem(t, byPassword, 401, 'invalid_credentials')
  expectProblem(t, await connect(browser, bob, 'some other words here'), 401, 'invalid_credentials')
  const connected = await connect(browser, bob)
  t.match(connected, { status: 200, body: { user: { id: bob.id }, organization: { id: alice.organizationId } } })
  t.match(await browser.whoAmI(), { user: { id: bob.id }, role: 'member' })
  t.equal((await api.call('GET', '/v1/me', { as: (connected.body as SignedIn).jwt })).status, 200)
  t.same([...browser.cookies.keys()], ['__Host-session'], 'the other cookie is gone')
  const line = (await auditOf(stores, 'sso.identity_linked', 2)).at(-1)
  const details = { provider: 'google', tenant: 'example.com' }
  t.match(line, { organization_id: alice.organizationId, actor_id: bob.id, details })
  const [started] = (await auditOf(stores, 'session.started')).slice(-1)
  t.match(started, { actor_id: bob.id, details: { method: 'google' } })
  api.google.person = person
  const later = createBrowser(api)
  t.equal(await later.signIn('/v1/auth/sso/google'), '/', 'from then on the identity is enough')
  t.match(await later.whoAmI(), { user: { id: bob.id } })
  t.equal((await require(false)).status, 200)
})

t.test('an account of elsewhere joins by it, once it is proven to be the same person', async (t) => {
  const dora = await signUp(api, 'Dora')
  const browser = await waiting(t, 'Dora')
  t.match((await connect(browser, dora)).body, { user: { id: dora.id }, organization: { id: alice.organizationId } })
  const joined = (await auditOf(stores, 'member.joined')).at(-1)
  t.match(joined, { organization_id: alice.organizationId, actor_id: dora.id, details: { by: 'sso', role: 'member' } })
})

t.test('an invited account accepts by it, with the role of the invitation', async (t) => {
  const erin = await signUp(api, 'Erin')
  const token = await invite(api, alice.jwt, erin.email, 'admin')
  const browser = await waiting(t, 'Erin', `&invitation=${token}`)
  t.equal((await connect(browser, erin)).status, 200)
  t.match(await browser.whoAmI(), { user: { id: erin.id }, organization: { id: alice.organizationId }, role: 'admin' })
})

t.test('what waits is a cookie of this host alone that pages cannot read and other sites cannot send', async (t) => {
  await signUp(api, 'Frank')
  api.google.person = inWorkspace('Frank')
  const browser = createBrowser(api)
  const started = await browser.open('/v1/auth/sso/google')
  const back = new URL(await browser.authenticate(started.headers.get('location') ?? ''))
  const { headers } = await browser.open(back.pathname + back.search)
  const [, cookie] = headers.getSetCookie()
  t.match(cookie, /^__Host-sso-pending=\w{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Strict$/)
})

t.test("another account's password connects nothing", async (t) => {
  const [grace, mallory] = [await signUp(api, 'Grace'), await signUp(api, 'Mallory')]
  const browser = await waiting(t, 'Grace')
  const fault = expectProblem(t, await connect(browser, mallory), 409, 'sign_in_first')
  t.match(fault.detail, grace.email)
  expectProblem(t, await connect(browser, { email: 'nobody@example.com' }), 409, 'sign_in_first')
  const ordinary = await browser.post('/v1/auth/login', { email: mallory.email, password: PASSWORD })
  t.match(ordinary.body, { organization: { id: mallory.organizationId } }, 'who signs in as before just signs in')
  const own = await browser.post('/v1/auth/login', { email: grace.email, password: PASSWORD })
  t.match(own.body, { organization: { id: grace.organizationId } }, 'and connects only what they asked to')
  t.same([await countIdentities(grace), await countIdentities(mallory)], [0, 0])
})

t.test('a stolen cookie is worth nothing without the password, and guessing it is slowed down', async (t) => {
  const heidi = await signUp(api, 'Heidi')
  const thief = createBrowser(api)
  thief.cookies.set(PENDING, (await waiting(t, 'Heidi')).cookies.get(PENDING) ?? '')
  for (let guess = 0; guess < 5; guess++) {
    expectProblem(t, await connect(thief, heidi, `guess number ${guess}`), 401, 'invalid_credentials')
  }
  expectProblem(t, await connect(thief, heidi), 429, 'rate_limited')
  t.equal(await thief.whoAmI(), null)
  t.equal(await countIdentities(heidi), 0)
})

t.test('a cookie that nothing waits behind is refused, whatever the password', async (t) => {
  const ivan = await signUp(api, 'Ivan')
  const [none, invented, forgotten] = [createBrowser(api), createBrowser(api), await waiting(t, 'Ivan')]
  invented.cookies.set(PENDING, 'A'.repeat(43))
  const keys = await stores.redis.client.keys(`${stores.prefix}:sso-pending:*`)
  t.ok(keys.length > 0)
  t.notMatch(await stores.redis.client.get(keys[0] ?? ''), /example/, 'Redis does not tell whose it is')
  await stores.redis.client.del(keys)
  for (const browser of [none, invented, forgotten]) {
    for (const password of [PASSWORD, 'some other words here']) {
      expectProblem(t, await connect(browser, ivan, password), 400, 'sso_state_invalid')
    }
  }
  t.equal(await countIdentities(ivan), 0)
})

t.test('an identity that waits is used once', async (t) => {
  const judy = await signUp(api, 'Judy')
  const browser = await waiting(t, 'Judy')
  const token = browser.cookies.get(PENDING) ?? ''
  const copy = createBrowser(api)
  copy.cookies.set(PENDING, token)
  const both = await Promise.all([connect(browser, judy), connect(copy, judy)])
  t.same(both.map(({ status }) => status).sort(), [200, 400], 'of two at once one is let in')
  copy.cookies.set(PENDING, token)
  expectProblem(t, await connect(copy, judy), 400, 'sso_state_invalid')
  t.equal(await countIdentities(judy), 1)
})

t.test('an identity waits for ten minutes', async (t) => {
  const kate = await signUp(api, 'Kate')
  const browser = await waiting(t, 'Kate')
  ahead = 10 * 60_000
  expectProblem(t, await connect(browser, kate), 400, 'sso_state_invalid')
  ahead = 0
  t.equal(await countIdentities(kate), 0)
})

t.test('a page of another site cannot use it', async (t) => {
  const leo = await signUp(api, 'Leo')
  const browser = await waiting(t, 'Leo')
  const cookie = `${PENDING}=${browser.cookies.get(PENDING)}`
  const json = { email: leo.email, password: PASSWORD, connect: true }
  const headers = { cookie, origin: 'https://evil.example.net', 'sec-fetch-site': 'cross-site' }
  expectProblem(t, await api.call('POST', '/v1/auth/login', { json, headers }), 403, 'cross_site')
  t.equal(await countIdentities(leo), 0)
})

t.test('an identity that became somebody else’s while it waited stays theirs', async (t) => {
  const [mona, nina] = [await signUp(api, 'Mona'), await signUp(api, 'Nina')]
  const browser = await waiting(t, 'Mona')
  const other = createBrowser(api)
  await other.post('/v1/auth/login', { email: nina.email, password: PASSWORD })
  t.equal(await other.signIn('/v1/auth/sso/google?link=1', SAME_SITE), '/')
  expectProblem(t, await connect(browser, mona), 409, 'sso_identity_taken')
  t.same([await countIdentities(mona), await countIdentities(nina)], [0, 1])
})

t.test('an account without a password is told to sign in as before', async (t) => {
  api.entra.person = inDirectory(TENANT, 'Olga')
  t.equal(await createBrowser(api).signIn('/v1/auth/sso/entra'), '/')
  api.google.person = inWorkspace('Olga')
  const browser = createBrowser(api)
  t.equal(await browser.signIn('/v1/auth/sso/google'), '/login?error=sign_in_first')
  t.equal(browser.cookies.size, 0)
})

t.test('a connection that is removed while an identity waits connects nobody', async (t) => {
  const paul = await signUp(api, 'Paul')
  const browser = await waiting(t, 'Paul')
  t.equal((await api.call('DELETE', `/v1/organization/sso/${google.id}`, { as: alice.jwt })).status, 204)
  expectProblem(t, await connect(browser, paul), 403, 'sso_not_connected')
  t.equal(await countIdentities(paul), 0)
  t.equal(await browser.whoAmI(), null)
})
