import { type Test, t } from 'tap'
import type { SignedIn } from '../../shared/contract/auth.ts'
import { auditOf } from '../support/audit-trail.ts'
import { createCast, PASSWORD, type Person } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'
import { bind, createBrowser, inDirectory, ssoApiFor } from '../support/sso.ts'

const TENANT = '11111111-1111-4111-8111-111111111111'
const SECOND = '22222222-2222-4222-8222-222222222222'
const PATH = '/v1/organization/sso'
const SAME_SITE = { 'sec-fetch-site': 'same-origin' }

const stores = await openStores(t)
const api = await ssoApiFor(t, stores)
const { alice, bob, charlie } = await createCast(api)
const { id: connectionId } = await bind(api, alice, { provider: 'entra', tenant: TENANT, domain: 'example.com' })
const { id: secondId } = await bind(api, alice, { provider: 'entra', tenant: SECOND, domain: 'example.org' })
const ALICE = inDirectory(TENANT, 'Alice')

/** Signs in by password; what the browser and a program then hold. */
async function byPassword({ email }: Person) {
  const answer = await api.call('POST', '/v1/auth/login', { json: { email, password: PASSWORD, remember: true } })
  const { jwt, refreshToken } = answer.body as SignedIn
  const [, value = ''] = /__Host-session=(\w+)/.exec(answer.headers.getSetCookie().join()) ?? []
  const browser = createBrowser(api)
  browser.cookies.set('__Host-session', value)
  const refresh = () => api.call('POST', '/v1/auth/refresh', { json: { refreshToken } })
  return { jwt, browser, refresh }
}

type Held = Awaited<ReturnType<typeof byPassword>>

async function expectShut(t: Test, { jwt, browser, refresh }: Held) {
  expectProblem(t, await api.call('GET', '/v1/me', { as: jwt }), 401, 'unauthorized')
  t.equal(await browser.whoAmI(), null)
  expectProblem(t, await refresh(), 401, 'unauthorized')
  const json = { organizationId: charlie.organizationId }
  expectProblem(t, await api.call('POST', '/v1/auth/switch', { as: jwt, json }), 401, 'unauthorized')
}

t.test(
  'what passwords had opened is shut when single sign-on becomes required, and not opened again after it',
  async (t) => {
    const [hers, his, strangers] = [await byPassword(alice), await byPassword(bob), await byPassword(charlie)]
    api.entra.person = ALICE
    t.equal(await hers.browser.signIn('/v1/auth/sso/entra?link=1', SAME_SITE), '/')
    const byProvider = createBrowser(api)
    t.equal(await byProvider.signIn('/v1/auth/sso/entra'), '/')
    api.entra.person = inDirectory(SECOND, 'Quinn', { email: 'quinn@example.org' })
    const quinns = createBrowser(api)
    t.equal(await quinns.signIn('/v1/auth/sso/entra'), '/')

    const cookie = `__Host-session=${byProvider.cookies.get('__Host-session')}`
    const require = (required: boolean) =>
      api.call('PATCH', PATH, { json: { required }, headers: { ...SAME_SITE, cookie } })
    t.match(await require(true), { status: 200, body: { required: true } })
    await expectShut(t, hers)
    await expectShut(t, his)
    t.match(await byProvider.whoAmI(), { user: { email: alice.email } }, 'who asked by the provider stays')
    t.equal(await quinns.whoAmI(), null, 'the others come anew')
    t.match(await strangers.browser.whoAmI(), { user: { email: charlie.email } })
    t.equal((await api.call('GET', '/v1/me', { as: strangers.jwt })).status, 200)

    t.equal(await quinns.signIn('/v1/auth/sso/entra'), '/')
    t.match(await quinns.whoAmI(), { user: { email: 'quinn@example.org' } })
    const removed = await api.call('DELETE', `${PATH}/${secondId}`, { headers: { ...SAME_SITE, cookie } })
    t.equal(removed.status, 204)
    t.equal(await quinns.whoAmI(), null, 'a tenant that leads in no more keeps nobody in')
    t.match(await byProvider.whoAmI(), { user: { email: alice.email } })

    const [line] = await auditOf(stores, 'organization.changed')
    t.match(line?.details, { ssoRequired: { from: false, to: true } })
    t.ok(Number(line?.details.sessionsEnded) >= 4)

    t.equal((await require(false)).status, 200)
    t.equal(await his.browser.whoAmI(), null, 'a session that ended stays so')
    t.equal((await api.call('DELETE', `${PATH}/${connectionId}`, { headers: { ...SAME_SITE, cookie } })).status, 204)
    t.match(await byProvider.whoAmI(), { user: { email: alice.email } }, 'where it is not required nobody is shut out')
  }
)
