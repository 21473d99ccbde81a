import { randomBytes } from 'node:crypto'
import { t } from 'tap'
import { createSecrets } from '../../shared/secrets.ts'
import { apiFor } from '../support/api.ts'
import { auditOf } from '../support/audit-trail.ts'
import { signUp } from '../support/cast.ts'
import { httpsFetch } from '../support/https-fetch.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'
import { bind, createBrowser, inDirectory, inWorkspace, ORIGIN, pathOf, ssoApiFor } from '../support/sso.ts'

const TENANT = '11111111-1111-4111-8111-111111111111'
const OTHER = '22222222-2222-4222-8222-222222222222'

const stores = await openStores(t)
let ahead = 0
const api = await ssoApiFor(t, stores, { clock: () => Date.now() + ahead })
const alice = await signUp(api, 'Alice')
await bind(api, alice, { provider: 'entra', tenant: TENANT, domain: 'example.com' })
await bind(api, alice, { provider: 'google', domain: 'example.com' })

const people = [
  ['entra', inDirectory(TENANT, 'Bob')],
  ['google', inWorkspace('Carol')]
] as const
for (const [provider, person] of people) {
  t.test(`somebody of the bound tenant joins by ${provider}, and is the same person the next time`, async (t) => {
    api[provider].person = person
    const browser = createBrowser(api)
    t.equal(await browser.signIn(`/v1/auth/sso/${provider}?returnTo=/monitors%3Fa%3Db`), '/monitors?a=b')
    const first = await browser.whoAmI()
    t.match(first, { user: { name: person.claims.name }, organization: { id: alice.organizationId }, role: 'member' })
    t.same([...browser.cookies.keys()], ['__Host-session'], 'the cookie of the sign-in is gone')
    const again = createBrowser(api)
    t.equal(await again.signIn(`/v1/auth/sso/${provider}`), '/')
    t.equal((await again.whoAmI())?.user.id, first?.user.id)
  })
}

t.test('the trail tells who joined, by which tenant', async (t) => {
  const joined = await auditOf(stores, 'member.joined', 2)
  const linked = await auditOf(stores, 'sso.identity_linked', 2)
  t.ok([...joined, ...linked].every((line) => line.organization_id === alice.organizationId))
  t.same(
    linked.map(({ details }) => details),
    [
      { provider: 'entra', tenant: TENANT },
      { provider: 'google', tenant: 'example.com' }
    ]
  )
})

t.test('while SECRETS_KEY is changed, a sign-in that one process began is ended by another', async (t) => {
  const secretsKey = randomBytes(32).toString('base64')
  const turned = { ...stores, secretsKey, secrets: createSecrets(secretsKey, stores.secretsKey) }
  const sso = { entra: api.entra.client, google: api.google.client, fetch: httpsFetch(api.entra.ca) }
  const addresses = { apiUrl: ORIGIN, appUrl: ORIGIN, siteUrl: ORIGIN }
  const other = await apiFor(t, turned, { sso, addresses })
  api.entra.person = people[0][1]
  const browser = createBrowser(api)
  const { headers } = await browser.open('/v1/auth/sso/entra?returnTo=/monitors')
  const back = await browser.authenticate(headers.get('location') ?? '')
  const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
  const ended = await other.call('GET', pathOf(back), { headers: { cookie } })
  t.equal(pathOf(ended.headers.get('location') ?? ''), '/monitors')
})

t.test('whoever names the organization is sent to its own tenant', async (t) => {
  const start = (provider: string) => api.call('GET', `/v1/auth/sso/${provider}?organizationId=${alice.organizationId}`)
  const entra = new URL((await start('entra')).headers.get('location') ?? '')
  t.ok(entra.pathname.startsWith(`/${TENANT}/`), entra.pathname)
  const google = new URL((await start('google')).headers.get('location') ?? '')
  t.equal(google.searchParams.get('hd'), 'example.com')
  api.entra.person = people[0][1]
  const browser = createBrowser(api)
  t.equal(await browser.signIn(`/v1/auth/sso/entra?organizationId=${alice.organizationId}`), '/')
})

t.test('the question to the provider carries state, nonce and a PKCE challenge', async (t) => {
  const { status, headers } = await api.call('GET', '/v1/auth/sso/google')
  t.equal(status, 302)
  const asked = Object.fromEntries(new URL(headers.get('location') ?? '').searchParams)
  t.match(asked, { response_type: 'code', scope: 'openid email profile', code_challenge_method: 'S256', hd: '*' })
  t.match(asked, { state: /^.{43}$/, nonce: /^.{43}$/, code_challenge: /^.{43}$/, client_id: 'pulsegate' })
  t.match(headers.getSetCookie(), [/^__Host-sso=\w{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/])
  t.match(Object.fromEntries(headers), { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
})

t.test('a person who entered the password long ago is asked again before what needs it', async (t) => {
  const browser = createBrowser(api)
  api.google.person = people[1][1]
  api.google.enteredAt = Date.now() - 3_600_000
  await browser.signIn('/v1/auth/sso/google')
  api.google.enteredAt = null
  const cookie = `__Host-session=${browser.cookies.get('__Host-session')}`
  const headers = { cookie, 'sec-fetch-site': 'same-origin' }
  const unlink = await api.call('DELETE', '/v1/me/identities/google', { headers })
  expectProblem(t, unlink, 403, 'reauthentication_required')
  const again = await browser.open('/v1/auth/sso/google')
  const location = again.headers.get('location') ?? ''
  t.equal(new URL(location).searchParams.get('prompt'), 'select_account')
  await browser.open(pathOf(await browser.authenticate(location)))
  const [row] = await stores.db.query<{ ended: number; open: number }>(
    `select count(ended_at)::int as ended, count(*) filter (where authenticated_at > now() - interval '1 minute')::int as open
     from sessions where method = 'google' and ended_at is null or ended_at > now() - interval '1 minute'`
  )
  t.match(row, { ended: 1 }, 'the new session takes the place of the old one')
})

t.test('a suspended organization lets nobody in', async (t) => {
  const suspend = (at: string | null) =>
    stores.db.query('update organizations set suspended_at = $2 where id = $1', [alice.organizationId, at])
  await suspend('2026-01-01')
  for (const person of [people[0][1], inDirectory(TENANT, 'Newcomer')]) {
    api.entra.person = person
    t.equal(await createBrowser(api).signIn('/v1/auth/sso/entra'), '/login?error=organization_suspended')
  }
  await suspend(null)
})

t.test('a person of several organizations comes to the one that is named', async (t) => {
  const dora = await signUp(api, 'Dora')
  await bind(api, dora, { provider: 'entra', tenant: TENANT, domain: 'example.com' })
  api.entra.person = people[0][1]
  const browser = createBrowser(api)
  await browser.signIn('/v1/auth/sso/entra')
  t.equal((await browser.whoAmI())?.organization.id, alice.organizationId, 'not drawn into another by itself')
  t.equal(await browser.signIn(`/v1/auth/sso/entra?organizationId=${dora.organizationId}`), '/')
  t.match(await browser.whoAmI(), { organization: { id: dora.organizationId }, role: 'member' })
})

t.test('an organization of several tenants takes each of them, and no other', async (t) => {
  await bind(api, alice, { provider: 'entra', tenant: OTHER, domain: 'example.net' })
  const path = `/v1/auth/sso/entra?organizationId=${alice.organizationId}`
  api.entra.person = inDirectory(OTHER, 'Erin', { email: 'erin@example.net' })
  t.equal(await createBrowser(api).signIn(path), '/')
  api.entra.person = inDirectory('33333333-3333-4333-8333-333333333333', 'Frank')
  t.equal(await createBrowser(api).signIn(path), '/login?error=sso_wrong_tenant')
})

t.test('an attempt ends after ten minutes', async (t) => {
  const browser = createBrowser(api)
  const started = await browser.open('/v1/auth/sso/google')
  const back = await browser.authenticate(started.headers.get('location') ?? '')
  ahead = 10 * 60_000
  const { headers } = await browser.open(pathOf(back))
  ahead = 0
  t.equal(pathOf(headers.get('location') ?? ''), '/login?error=sso_state_invalid')
})

for (const returnTo of ['//evil.example.net', '/\\evil.example.net', 'https://evil.example.net', '', '/a\nb', '/%00']) {
  const encoded = encodeURIComponent(returnTo)
  t.test(`nobody is sent on to ${JSON.stringify(returnTo)}`, async (t) => {
    const answer = await api.call('GET', `/v1/auth/sso/google?returnTo=${encoded === '%2F%2500' ? '/%00' : encoded}`)
    t.same(faultsOf(expectProblem(t, answer, 422, 'validation_failed')), ['?returnTo invalid_value'])
  })
}

t.test('a path with letters of any language is come back to', async (t) => {
  api.google.person = people[1][1]
  const path = await createBrowser(api).signIn(
    `/v1/auth/sso/google?returnTo=${encodeURIComponent('/monitors/ünï?q=→')}`
  )
  t.equal(decodeURI(path), '/monitors/ünï?q=→')
})

t.test('a provider that is not set up, or not known, is not there', async (t) => {
  const plain = await apiFor(t, stores)
  t.match((await api.call('GET', '/v1/auth/methods')).body, { entra: true, google: true })
  t.match((await plain.call('GET', '/v1/auth/methods')).body, { entra: false, google: false })
  for (const path of ['/v1/auth/sso/entra', '/v1/auth/sso/google/callback?state=x', '/v1/auth/sso/other']) {
    expectProblem(t, await plain.call('GET', path), 404, 'not_found')
  }
  expectProblem(t, await api.call('GET', '/v1/auth/sso/other'), 404, 'not_found')
})

t.test('a provider that cannot be reached is told by a code', async (t) => {
  const client = { issuer: 'https://localhost:9', clientId: 'x', clientSecret: 'y' }
  const lonely = await apiFor(t, stores, { sso: { entra: client, google: client } })
  for (const provider of ['entra', 'google']) {
    const { status, headers } = await lonely.call('GET', `/v1/auth/sso/${provider}`)
    t.equal(status, 303)
    t.equal(headers.get('location'), `${lonely.apiUrl}/login?error=sso_unavailable`)
  }
})
