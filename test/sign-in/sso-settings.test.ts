import { t } from 'tap'
import type { SsoAnswer, SsoConnectionAnswer } from '../../shared/contract/sso.ts'
import type { CallOptions } from '../support/api.ts'
import { auditOf } from '../support/audit-trail.ts'
import { createCast, PASSWORD, signUp } from '../support/cast.ts'
import type { Somebody } from '../support/identity-provider.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'
import { bind, createBrowser, inDirectory, ssoApiFor } from '../support/sso.ts'

const TENANT = '11111111-1111-4111-8111-111111111111'
const OTHER = '22222222-2222-4222-8222-222222222222'
const PATH = '/v1/organization/sso'
const SAME_SITE = { 'sec-fetch-site': 'same-origin' }

/** Alice in the directory that her organization is bound to, and in another. */
const [ALICE, ALICE_ELSEWHERE] = [inDirectory(TENANT, 'Alice'), inDirectory(OTHER, 'Alice')]

const stores = await openStores(t)
let ahead = 0
const api = await ssoApiFor(t, stores, { clock: () => Date.now() + ahead })
const { alice, bob, charlie } = await createCast(api)
const create = (json: object, as = alice.jwt) => api.call('POST', PATH, { as, json })
/** By what Alice shows that she is signed in. */
let shown: CallOptions = { as: alice.jwt }
const require = (required: boolean) => api.call('PATCH', PATH, { ...shown, json: { required } })
const read = async () => (await api.call('GET', PATH, shown)).body as SsoAnswer

t.test('a connection is proven by a DNS record, once', async (t) => {
  const made = await create({ provider: 'entra', tenant: TENANT.toUpperCase(), domain: ' Example.COM ' })
  t.equal(made.status, 201)
  const connection = made.body as SsoConnectionAnswer
  t.match(connection, { provider: 'entra', tenant: TENANT, domain: 'example.com', provenAt: null })
  const { name, value } = connection.proof
  t.equal(name, '_pulsegate-challenge.example.com')
  t.match(value, /^pulsegate-verification=\w{43}$/)
  const verify = () => api.call('POST', `${PATH}/${connection.id}/verify`, { as: alice.jwt })
  const wrong = [undefined, [], [['pulsegate-verification=']], [[`${value}x`]], [['v=spf1'], [value.slice(0, -1)]]]
  for (const records of wrong) {
    if (records === undefined) api.dns.records.delete(name)
    else api.dns.records.set(name, records)
    const { detail } = expectProblem(t, await verify(), 409, 'sso_domain_unproven')
    t.match(detail, `${name} TXT "${value}"`)
  }
  t.equal((await read()).connections[0]?.provenAt, null)
  // Long texts come in parts.
  api.dns.records.set(name, [['something else'], [value.slice(0, 9), value.slice(9)]])
  t.match(await verify(), { status: 200, body: { provenAt: /Z$/ } })
  api.dns.records.delete(name)
  t.equal((await verify()).status, 200, 'it stays proven')
  t.equal((await auditOf(stores, 'sso.connection_proven')).length, 1)
})

const refused: Array<[name: string, body: object, faults: string[]]> = [
  ['a tenant that is no id', { provider: 'entra', tenant: 'common', domain: 'example.com' }, ['/tenant invalid_value']],
  [
    'the tenant of personal accounts',
    { provider: 'entra', tenant: '9188040D-6c67-4c5b-b112-36a304b66dad', domain: 'example.com' },
    ['/tenant invalid_value']
  ],
  ['a domain of one label', { provider: 'google', domain: 'localhost' }, ['/domain invalid_value']],
  ['a domain with a path', { provider: 'google', domain: 'example.com/x' }, ['/domain invalid_value']],
  ['an address for a domain', { provider: 'google', domain: '127.0.0.1' }, ['/domain invalid_value']],
  ['a tenant of Google', { provider: 'google', tenant: TENANT, domain: 'example.com' }, ['/tenant unknown_field']],
  ['an unknown provider', { provider: 'other', domain: 'example.com' }, ['/provider invalid_value']]
]
for (const [name, body, faults] of refused) {
  t.test(`${name} is refused`, async (t) => {
    t.same(faultsOf(expectProblem(t, await create(body), 422, 'validation_failed')), faults)
  })
}

t.test('an organization is bound to a tenant once; another may be bound to it too', async (t) => {
  const json = { provider: 'entra', tenant: TENANT, domain: 'example.net' }
  expectProblem(t, await create(json), 409, 'sso_connection_exists')
  t.equal((await create(json, charlie.jwt)).status, 201)
})

t.test('only owners change it, after a sign-in of late; strangers do not see it', async (t) => {
  const [connection] = (await read()).connections
  for (const [method, path] of [
    ['POST', PATH],
    ['PATCH', PATH],
    ['GET', PATH],
    ['DELETE', `${PATH}/${connection?.id}`]
  ]) {
    expectProblem(t, await api.call(method ?? '', path ?? '', { as: bob.jwt, json: {} }), 403, 'forbidden')
  }
  for (const [method, path] of [
    ['DELETE', `${PATH}/${connection?.id}`],
    ['POST', `${PATH}/${connection?.id}/verify`]
  ]) {
    expectProblem(t, await api.call(method ?? '', path ?? '', { as: charlie.jwt }), 404, 'not_found')
  }
  const login = await api.call('POST', '/v1/auth/login', { json: { email: alice.email, password: PASSWORD } })
  const [, cookie] = /(__Host-session=\w+)/.exec(login.headers.getSetCookie().join()) ?? []
  ahead = 11 * 60_000
  const late = await api.call('PATCH', PATH, {
    json: { required: true },
    headers: { ...SAME_SITE, cookie: cookie ?? '' }
  })
  ahead = 0
  expectProblem(t, late, 403, 'reauthentication_required')
})

t.test('an organization has twenty connections at most', async (t) => {
  const owner = await signUp(api, 'Olga')
  for (let i = 0; i < 20; i++) {
    t.equal((await create({ provider: 'google', domain: `a${i}.example.com` }, owner.jwt)).status, 201)
  }
  expectProblem(t, await create({ provider: 'google', domain: 'b.example.com' }, owner.jwt), 409, 'limit_reached')
})

t.test('single sign-on is required only by who can come back by it', async (t) => {
  expectProblem(t, await require(true), 409, 'sso_not_ready')
  const link = async (identity: Somebody) => {
    api.entra.person = identity
    const browser = createBrowser(api)
    const login = await api.call('POST', '/v1/auth/login', { json: { email: alice.email, password: PASSWORD } })
    const [, cookie = ''] = /__Host-session=(\w+)/.exec(login.headers.getSetCookie().join()) ?? []
    browser.cookies.set('__Host-session', cookie)
    t.equal(await browser.signIn('/v1/auth/sso/entra?link=1', SAME_SITE), '/')
  }
  const byProvider = createBrowser(api)
  await link(ALICE_ELSEWHERE)
  expectProblem(t, await require(true), 409, 'sso_not_ready')
  await link(ALICE)
  t.equal(await byProvider.signIn('/v1/auth/sso/entra'), '/')
  shown = { headers: { ...SAME_SITE, cookie: `__Host-session=${byProvider.cookies.get('__Host-session')}` } }
  t.match(await require(true), { status: 200, body: { required: true } })
  t.match(await require(true), { status: 200, body: { required: true } })
  const lines = await auditOf(stores, 'organization.changed')
  t.equal(lines.length, 1)
  t.match(lines, [{ details: { ssoRequired: { from: false, to: true } } }])
})

t.test('where it is required, only a bound tenant leads in, and its connection and identity stay', async (t) => {
  t.equal((await read()).required, true)
  const json = { email: alice.email, password: PASSWORD }
  expectProblem(t, await api.call('POST', '/v1/auth/login', { json }), 401, 'invalid_credentials')
  api.entra.person = ALICE_ELSEWHERE
  t.equal(await createBrowser(api).signIn('/v1/auth/sso/entra'), '/login?error=sso_wrong_tenant')
  api.entra.person = ALICE
  t.equal(await createBrowser(api).signIn('/v1/auth/sso/entra'), '/')
  const [connection] = (await read()).connections
  const remove = () => api.call('DELETE', `${PATH}/${connection?.id}`, shown)
  expectProblem(t, await remove(), 409, 'sso_not_ready')
  const unlink = await api.call('DELETE', '/v1/me/identities/entra', shown)
  expectProblem(t, unlink, 409, 'last_way_in')
  t.equal((await read()).connections.length, 1)
  t.match(await require(false), { status: 200, body: { required: false } })
  t.equal((await remove()).status, 204)
  expectProblem(t, await remove(), 404, 'not_found')
  t.same(await read(), { required: false, connections: [] })
  t.match(await auditOf(stores, 'sso.connection_deleted'), [{ details: { provider: 'entra', tenant: TENANT } }])
})

t.test('a removed connection lets nobody new in, and nobody out', async (t) => {
  const owner = await signUp(api, 'Paul')
  const { id } = await bind(api, owner, { provider: 'entra', tenant: OTHER, domain: 'example.org' })
  const member = inDirectory(OTHER, 'Quinn', { email: 'quinn@example.org' })
  api.entra.person = member
  t.equal(await createBrowser(api).signIn('/v1/auth/sso/entra'), '/')
  t.equal((await api.call('DELETE', `${PATH}/${id}`, { as: owner.jwt })).status, 204)
  t.equal(await createBrowser(api).signIn('/v1/auth/sso/entra'), '/')
  api.entra.person = inDirectory(OTHER, 'Rita', { email: 'rita@example.org' })
  t.equal(await createBrowser(api).signIn('/v1/auth/sso/entra'), '/login?error=sso_not_connected')
})
