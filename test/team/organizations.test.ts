import { t } from 'tap'
import type { SignedIn } from '../../shared/contract/auth.ts'
import { replacePlan } from '../../shared/store/organization-plans.ts'
import { anotherProcess } from '../support/another-process.ts'
import { apiFor } from '../support/api.ts'
import { createCast, invite, join, PASSWORD, signUp } from '../support/cast.ts'
import { connectAgent } from '../support/fake-agent.ts'
import { gatewayFor, openStores } from '../support/ingest.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'
import { waitFor } from '../support/wait-for.ts'

const stores = await openStores(t)
let ahead = 0
const options = {
  clock: () => Date.now() + ahead,
  signInPoints: { account: 1000, address: 1000 },
  addresses: { apiUrl: 'https://localhost:8443', siteUrl: 'https://localhost:8443' },
  rateLimitScale: 100
}
const api = await apiFor(t, stores, options)
const { alice, bob, charlie } = await createCast(api)
const organization = (method: string, as: string, json?: object) =>
  api.call(method, '/v1/organization', { as, ...(json === undefined ? {} : { json }) })

t.test('a person founds a further organization and is signed in to it as its owner', async (t) => {
  const founded = await api.call('POST', '/v1/organizations', { as: bob.jwt, json: { name: ' Second ' } })
  t.equal(founded.status, 201)
  t.match(founded.headers.get('set-cookie'), /^__Host-session=/)
  const { jwt, organization: made } = founded.body as SignedIn
  t.match(made, { name: 'Second', plan: 'self-hosted' })
  const me = await api.call('GET', '/v1/me', { as: jwt })
  t.match(me.body, { user: { id: bob.id }, organization: { id: made.id }, role: 'owner' })
  const before = await api.call('GET', '/v1/me', { as: bob.jwt })
  t.match(before.body, { organization: { id: alice.organizationId }, role: 'member' })
  const login = { email: bob.email, password: PASSWORD, organizationId: made.id }
  t.equal((await api.call('POST', '/v1/auth/login', { json: login })).status, 200)
  const trail = await stores.db.query(
    'select action, actor_name from audit_log where organization_id = $1 order by id',
    [made.id]
  )
  t.match(trail[0], { action: 'organization.created', actor_name: bob.email })
})

t.test('founding is no new sign-in: what asks for a recent one is not made recent', async (t) => {
  const zoe = await signUp(api, 'Zoe')
  const founded = await api.call('POST', '/v1/organizations', { as: zoe.jwt, json: { name: 'Later' } })
  const { organization: made } = founded.body as SignedIn
  const rows = await stores.db.query(
    'select authenticated_at::text as at from sessions where user_id = $1 order by created_at',
    [zoe.id]
  )
  t.equal(rows.length, 2)
  t.equal(rows[0]?.at, rows[1]?.at)
  t.ok(made.id)
})

t.test('who has signed out founds nothing by a token that still runs', async (t) => {
  const walt = await signUp(api, 'Walt')
  await stores.db.query('update sessions set ended_at = now() where user_id = $1', [walt.id])
  const answer = await api.call('POST', '/v1/organizations', { as: walt.jwt, json: { name: 'Ghost' } })
  expectProblem(t, answer, 401, 'unauthorized')
})

t.test('everybody reads the organization; admins rename it', async (t) => {
  const { status, body } = await organization('GET', bob.jwt)
  t.equal(status, 200)
  t.match(body, {
    id: alice.organizationId,
    name: "Alice's",
    plan: 'self-hosted',
    retentionDays: { raw: 30, '5m': 90, '1h': 400, '1d': null },
    scheduledCut: null,
    limits: { monitors: null, agents: null, minIntervalSeconds: 10 },
    usage: { monitors: 2, agents: 1 },
    ssoRequired: false,
    createdAt: String
  })
  expectProblem(t, await organization('PATCH', bob.jwt, { name: 'Mine' }), 403, 'forbidden')
  t.match((await organization('PATCH', alice.jwt, { name: 'Wonderland' })).body, { name: 'Wonderland' })
  t.match((await organization('GET', bob.jwt)).body, { name: 'Wonderland' })
  t.match((await organization('GET', charlie.jwt)).body, { name: "Charlie's" })
  const faults = expectProblem(
    t,
    await organization('PATCH', alice.jwt, { plan: 'business' }),
    422,
    'validation_failed'
  )
  t.same(faultsOf(faults), ['/plan unknown_field'])
  const trail = await stores.db.query("select actor_name, details from audit_log where action = 'organization.changed'")
  t.same(trail, [{ actor_name: alice.email, details: { name: { from: "Alice's", to: 'Wonderland' } } }])
})

t.test('after a change to a smaller plan the organization tells when what is told is cut', async (t) => {
  const at = Date.now()
  await stores.db.transaction((tx) => replacePlan(tx, charlie.organizationId, 'free', at))
  t.match((await organization('GET', charlie.jwt)).body, {
    plan: 'free',
    retentionDays: { raw: 7, '5m': 30, '1h': 90, '1d': 400 },
    scheduledCut: {
      at: new Date(at + 14 * 86_400_000).toISOString(),
      retentionDays: { raw: 30, '5m': 90, '1h': 400, '1d': null }
    }
  })
  await stores.db.transaction((tx) => replacePlan(tx, charlie.organizationId, 'self-hosted', at))
  t.match((await organization('GET', charlie.jwt)).body, { plan: 'self-hosted', scheduledCut: null })
})

t.test('only an owner deletes, and only by the exact name', async (t) => {
  const admin = await join(api, alice.jwt, 'Admin', 'admin')
  expectProblem(t, await organization('DELETE', admin.jwt, { name: 'Wonderland' }), 403, 'forbidden')
  for (const name of ['wonderland', ' Wonderland', '']) {
    const body = expectProblem(t, await organization('DELETE', alice.jwt, { name }), 422, 'validation_failed')
    t.same(faultsOf(body), ['/name invalid_value'])
  }
  t.equal((await organization('GET', alice.jwt)).status, 200)
})

t.test('a session deletes only soon after the password was shown', async (t) => {
  const vera = await signUp(api, 'Vera')
  const login = await api.call('POST', '/v1/auth/login', { json: { email: vera.email, password: PASSWORD } })
  const cookie = String(login.headers.get('set-cookie')).split(';')[0] ?? ''
  const call = () =>
    api.call('DELETE', '/v1/organization', {
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
      json: { name: "Vera's" }
    })
  ahead = 11 * 60_000
  expectProblem(t, await call(), 403, 'reauthentication_required')
  ahead = 0
  const deleted = await call()
  t.equal(deleted.status, 204)
  t.match(deleted.headers.get('set-cookie'), /^__Host-session=;.*Max-Age=0/)
})

t.test('with an organization all that it has is gone, at every process within a second', async (t) => {
  const dora = await signUp(api, 'Dora')
  const erik = await join(api, dora.jwt, 'Erik')
  const monitor = (
    await api.call('POST', '/v1/monitors', { as: dora.jwt, json: { name: 'M', kind: 'push', intervalSeconds: 60 } })
  ).body as { id: string; pushUrl: string }
  const agent = (
    await api.call('POST', '/v1/agents', {
      as: dora.jwt,
      json: { name: 'A', kind: 'service', monitorIds: [monitor.id] }
    })
  ).body as { apiKey: string }
  const token = await invite(api, dora.jwt, 'late@example.com')
  const elsewhere = await anotherProcess(t, stores)
  const second = await apiFor(t, elsewhere, options)
  const gateway = await gatewayFor(t, elsewhere)
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await socket.hello()
  const report = async () => {
    const json = { monitorId: monitor.id, status: 'up', latency: 1, timestamp: new Date().toISOString() }
    return (await second.call('POST', '/api/heartbeats', { as: agent.apiKey, json })).status
  }
  const push = async () => (await second.call('GET', new URL(monitor.pushUrl).pathname)).status
  t.same([await report(), await push()], [202, 200])

  t.equal((await organization('DELETE', dora.jwt, { name: "Dora's" })).status, 204)
  t.match(await socket.closed, { code: 4401 })
  await waitFor(async () => (await report()) === 401 && (await push()) === 404, { timeoutMs: 1000 })
  await t.rejects(connectAgent({ url: gateway.url, apiKey: agent.apiKey }))
  for (const { jwt } of [dora, erik]) expectProblem(t, await organization('GET', jwt), 401, 'unauthorized')
  expectProblem(t, await api.call('GET', `/v1/invitations/${token}`), 404, 'not_found')
  for (const table of ['monitors', 'agents', 'api_keys', 'push_urls', 'memberships', 'invitations', 'audit_log']) {
    const rows = await stores.db.query(`select 1 from ${table} where organization_id = $1`, [dora.organizationId])
    t.same(rows, [], table)
  }
  t.equal((await organization('GET', alice.jwt)).status, 200, 'others are as they were')
})

t.test('who belongs nowhere any more signs up again with the password of the account', async (t) => {
  const dora = await signUp(api, 'Dora')
  const { email } = dora
  t.equal((await organization('DELETE', dora.jwt, { name: "Dora's" })).status, 204)
  expectProblem(
    t,
    await api.call('POST', '/v1/auth/login', { json: { email, password: PASSWORD } }),
    401,
    'invalid_credentials'
  )
  const again = (password: string, as = email) =>
    api.call('POST', '/v1/auth/signup', { json: { organizationName: 'Anew', name: 'Dora', email: as, password } })
  expectProblem(t, await again('another garden of lamps'), 409, 'email_in_use')
  t.match(await again(PASSWORD), { status: 201, body: { user: { id: dora.id }, organization: { name: 'Anew' } } })
  expectProblem(t, await again(PASSWORD), 409, 'email_in_use')
  expectProblem(t, await again(PASSWORD, charlie.email), 409, 'email_in_use')
  const login = await api.call('POST', '/v1/auth/login', { json: { email, password: PASSWORD } })
  t.match(login, { status: 200, body: { organization: { name: 'Anew' } } })
})
