import { type Test, t } from 'tap'
import { auditOf } from '../support/audit-trail.ts'
import { PASSWORD, type Person, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { mailboxFor } from '../support/mailbox.ts'
import { expectProblem } from '../support/problems.ts'
import { type Browser, bind, createBrowser, inDirectory, inWorkspace, pathOf, ssoApiFor } from '../support/sso.ts'

const TENANT = '11111111-1111-4111-8111-111111111111'
const OTHER = '22222222-2222-4222-8222-222222222222'
const SAME_SITE = { 'sec-fetch-site': 'same-origin' }
const LINK = '/v1/auth/sso/entra?link=1&returnTo=/settings'

const stores = await openStores(t)
let ahead = 0
const mailbox = await mailboxFor(t)
const api = await ssoApiFor(t, stores, { clock: () => Date.now() + ahead, smtpUrl: mailbox.url })
const alice = await signUp(api, 'Alice')
await bind(api, alice, { provider: 'entra', tenant: TENANT, domain: 'example.com' })
await bind(api, alice, { provider: 'google', domain: 'example.com' })

/** A browser where somebody is signed in by password. */
async function signedIn(email: string): Promise<Browser> {
  const browser = createBrowser(api)
  const answer = await api.call('POST', '/v1/auth/login', { json: { email, password: PASSWORD } })
  const [, cookie = ''] = /__Host-session=(\w+)/.exec(answer.headers.getSetCookie().join()) ?? []
  browser.cookies.set('__Host-session', cookie)
  return browser
}

async function identitiesOf(person: Person): Promise<unknown> {
  return ((await api.call('GET', '/v1/me/identities', { as: person.jwt })).body as { data: unknown }).data
}

t.test('an identity is linked by who is signed in, and signs in from then on', async (t) => {
  api.entra.person = inDirectory(TENANT, 'Alice')
  const browser = await signedIn(alice.email)
  t.equal(await browser.signIn(LINK, SAME_SITE), '/settings')
  t.match(await identitiesOf(alice), [
    { provider: 'entra', tenant: TENANT, email: 'alice@example.com', linkedAt: String }
  ])
  t.equal(await browser.signIn(LINK, SAME_SITE), '/settings', 'linking it again changes nothing')
  const [line, ...more] = await auditOf(stores, 'sso.identity_linked')
  t.match(line, { actor_id: alice.id, details: { provider: 'entra', tenant: TENANT } })
  t.equal(more.length, 0)
  const later = createBrowser(api)
  t.equal(await later.signIn('/v1/auth/sso/entra'), '/')
  t.match(await later.whoAmI(), { user: { id: alice.id }, role: 'owner' })
})

t.test("an identity of any tenant may be linked; it is then that account's alone", async (t) => {
  const charlie = await signUp(api, 'Charlie')
  const identity = inDirectory(OTHER, 'Chuck', { email: 'elsewhere@example.net' })
  api.entra.person = identity
  t.equal(await (await signedIn(charlie.email)).signIn(LINK, SAME_SITE), '/settings')
  t.equal(await (await signedIn(alice.email)).signIn(LINK, SAME_SITE), '/login?error=sso_identity_taken')
  const later = createBrowser(api)
  t.equal(await later.signIn('/v1/auth/sso/entra'), '/')
  t.match(await later.whoAmI(), { user: { id: charlie.id } })
})

t.test('nothing is linked without a page of ours, a session and a sign-in of late', async (t) => {
  api.entra.person = inDirectory(OTHER, 'Mallory')
  const before = await identitiesOf(alice)
  const browser = await signedIn(alice.email)
  for (const site of ['cross-site', 'same-site', 'none']) {
    t.equal(await browser.signIn(LINK, { 'sec-fetch-site': site }), '/login?error=cross_site')
  }
  t.equal(await browser.signIn(LINK), '/login?error=cross_site')
  t.equal(await createBrowser(api).signIn(LINK, SAME_SITE), '/login?error=unauthorized')
  ahead = 11 * 60_000
  t.equal(await browser.signIn(LINK, SAME_SITE), '/login?error=reauthentication_required')
  ahead = 0
  t.same(await identitiesOf(alice), before)
})

t.test('a link that was begun in one session is not finished in another', async (t) => {
  api.entra.person = inDirectory(OTHER, 'Mallory')
  const dora = await signUp(api, 'Dora')
  const browser = await signedIn(dora.email)
  const started = await browser.open(LINK, SAME_SITE)
  const back = await browser.authenticate(started.headers.get('location') ?? '')
  browser.cookies.set('__Host-session', (await signedIn(alice.email)).cookies.get('__Host-session') ?? '')
  const { headers } = await browser.open(pathOf(back))
  t.equal(pathOf(headers.get('location') ?? ''), '/login?error=sso_state_invalid')
  t.same(await identitiesOf(dora), [])
})

async function invite(email: string, role = 'admin'): Promise<string> {
  await api.call('POST', '/v1/team/invitations', { as: alice.jwt, json: { email, role } })
  const { text } = await mailbox.mailTo(email)
  return /\/invitations\/(pgi_\w+)/.exec(text)?.[1] ?? ''
}

async function accept(t: Test, provider: 'entra' | 'google', token: string, expected: string): Promise<Browser> {
  const browser = createBrowser(api)
  t.equal(await browser.signIn(`/v1/auth/sso/${provider}?invitation=${token}`), expected)
  return browser
}

t.test('an invitation is accepted by an address that the provider verified', async (t) => {
  const people = [
    ['google', inWorkspace('Gina', { hd: 'example.net', email: 'gina@example.net' }), 'gina@example.net'],
    ['entra', inDirectory(OTHER, 'Enzo', { email: 'enzo@example.net', xms_edov: '1' }), 'enzo@example.net']
  ] as const
  for (const [provider, person, email] of people) {
    api[provider].person = person
    const token = await invite(email)
    const browser = await accept(t, provider, token, '/')
    t.match(await browser.whoAmI(), { user: { email }, organization: { id: alice.organizationId }, role: 'admin' })
    await accept(t, provider, token, '/login?error=invitation_invalid')
    t.match(
      await (
        await accept(t, provider, await invite(`another-${email}`), '/login?error=invitation_of_another')
      ).whoAmI(),
      null
    )
  }
})

t.test('an address that nobody vouches for accepts nothing', async (t) => {
  const token = await invite('henry@example.net')
  const email = 'henry@example.net'
  for (const claims of [{}, { xms_edov: false }, { xms_edov: 'no' }]) {
    api.entra.person = inDirectory(OTHER, 'Henry', { email, ...claims })
    await accept(t, 'entra', token, '/login?error=sso_email_unverified')
  }
  api.google.person = inWorkspace('Henry', { hd: 'example.net', email, email_verified: false })
  await accept(t, 'google', token, '/login?error=sso_email_unverified')
  api.google.person = inWorkspace('Henry', { hd: undefined, email })
  await accept(t, 'google', token, '/login?error=sso_personal_account')
})

t.test('an invited address that has an account has to sign in once as before', async (t) => {
  const erin = await signUp(api, 'Erin')
  const token = await invite(erin.email)
  api.google.person = inWorkspace('Erin')
  await accept(t, 'google', token, '/login?error=sign_in_first&provider=google&next=%2F')
  t.equal(await (await signedIn(erin.email)).signIn('/v1/auth/sso/google?link=1', SAME_SITE), '/')
  const browser = await accept(t, 'google', token, '/')
  t.match(await browser.whoAmI(), { user: { id: erin.id }, organization: { id: alice.organizationId }, role: 'admin' })
})

t.test('an invitation that is unknown, too old or taken back is refused', async (t) => {
  api.google.person = inWorkspace('Ivan')
  await accept(t, 'google', 'pgi_unknown', '/login?error=invitation_invalid')
  const token = await invite('ivan@example.com')
  ahead = 7 * 86_400_000 + 1000
  await accept(t, 'google', token, '/login?error=invitation_invalid')
  ahead = 0
})

t.test("a reset password unlinks what is not proven to be the mailbox owner's", async (t) => {
  const kate = await signUp(api, 'Kate')
  const trojan = inDirectory(OTHER, 'Trojan', { email: kate.email, xms_edov: true })
  const own = inDirectory(TENANT, 'Kate')
  for (const identity of [trojan, inDirectory(TENANT, 'Insider'), own]) {
    api.entra.person = identity
    t.equal(await (await signedIn(kate.email)).signIn(LINK, SAME_SITE), '/settings')
  }
  await api.call('POST', '/v1/auth/password/forgot', { json: { email: kate.email } })
  const { text } = await mailbox.mailTo(kate.email)
  const token = /pgf_\w+/.exec(text)?.[0]
  const password = 'a password that only Kate knows'
  t.equal((await api.call('POST', '/v1/auth/password/reset', { json: { token, password } })).status, 204)
  t.match(await identitiesOf(kate), [{ provider: 'entra', tenant: TENANT, email: kate.email }])
  api.entra.person = trojan
  t.equal(await createBrowser(api).signIn('/v1/auth/sso/entra'), '/login?error=sso_not_connected')
  api.entra.person = own
  t.equal(await createBrowser(api).signIn('/v1/auth/sso/entra'), '/')
})

t.test('an identity is unlinked unless it is the last way in', async (t) => {
  const unlink = (browser: Browser, provider: string) =>
    api.call('DELETE', `/v1/me/identities/${provider}`, {
      headers: { ...SAME_SITE, cookie: `__Host-session=${browser.cookies.get('__Host-session')}` }
    })
  api.google.person = inWorkspace('Judy')
  const [judy, elsewhere] = [createBrowser(api), createBrowser(api)]
  await judy.signIn('/v1/auth/sso/google')
  await elsewhere.signIn('/v1/auth/sso/google')
  expectProblem(t, await unlink(judy, 'google'), 409, 'last_way_in')
  expectProblem(t, await unlink(judy, 'entra'), 404, 'not_found')
  expectProblem(t, await unlink(judy, 'other'), 404, 'not_found')
  api.entra.person = inDirectory(TENANT, 'Judy')
  t.equal(await judy.signIn('/v1/auth/sso/entra?link=1', SAME_SITE), '/')
  const both = await Promise.all([unlink(judy, 'google'), unlink(judy, 'entra')])
  t.same(both.map(({ status }) => status).sort(), [204, 409], 'of two at once one stays')
  t.not(await judy.whoAmI(), null)
  if (both[0]?.status === 204) t.equal(await elsewhere.whoAmI(), null, 'sessions that it opened have ended')
  t.match(await auditOf(stores, 'sso.identity_unlinked'), [{ details: { provider: String, tenant: String } }])
})
