import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { createAgent, createMonitor, PASSWORD, signUp } from '../support/cast.ts'
import { connectAgent } from '../support/fake-agent.ts'
import { gatewayFor, openStores } from '../support/ingest.ts'
import { doneByOperator, logIn, operatorOf } from '../support/operator.ts'
import { expectProblem } from '../support/problems.ts'

const stores = await openStores(t)
const api = await apiFor(t, stores)
const admin = operatorOf(stores)
const alice = await signUp(api, 'Alice')

/** A word that stands after its name in the answer of a command. */
function wordAfter(name: string, out: string): string {
  return new RegExp(`^${name} +(\\S+)$`, 'm').exec(out)?.[1] ?? ''
}

t.test('an organization is created with an owner, whose password is shown once', async (t) => {
  const made = await admin('organizations', 'create', '--name', 'Acme', '--owner-email', 'Dora@example.com')
  t.match(made, { code: 0, err: '' })
  const signedIn = await logIn(api, 'dora@example.com', wordAfter('password', made.out))
  const organizationId = wordAfter('organization', made.out)
  t.match(signedIn, { status: 200, body: { organization: { id: organizationId, name: 'Acme', plan: 'self-hosted' } } })
  t.match(await doneByOperator(stores, organizationId), [
    { action: 'organization.created', details: { owner: 'dora@example.com' } }
  ])

  const second = await admin('organizations', 'create', '--name', 'Beta', '--owner-email', alice.email)
  t.match(second, { code: 0, out: /had an account already/ })
  t.notMatch(second.out, /password/)
  const { out } = await admin('organizations', 'list')
  t.match(out, /self-hosted {2}active {2}1 member {2}20\S+Z {2}Acme\n/)
  t.match(out, /\n3 organizations\.\n$/)
})

t.test('a suspended organization loses its sockets and comes back when it is resumed', async (t) => {
  const erin = await signUp(api, 'Erin')
  const monitor = await createMonitor(api, erin.jwt, { name: 'Shop', kind: 'heartbeat' })
  const { apiKey } = await createAgent(api, erin.jwt, { name: 'Rack', monitorIds: [monitor.id] })
  const socket = await connectAgent({ url: (await gatewayFor(t, stores)).url, apiKey })
  t.match(await admin('organizations', 'suspend', erin.organizationId), { code: 0, out: "Erin's is suspended now.\n" })
  t.match(await socket.closed, { code: 4403 })
  expectProblem(t, await api.call('GET', '/v1/monitors', { as: erin.jwt }), 403, 'organization_suspended')
  t.match(await admin('organizations', 'resume', erin.organizationId), { code: 0, out: "Erin's is active now.\n" })
  t.equal((await api.call('GET', '/v1/monitors', { as: erin.jwt })).status, 200)
  t.match(await doneByOperator(stores, erin.organizationId), [
    { details: { suspended: false } },
    { details: { suspended: true } }
  ])
})

t.test('a plan is changed', async (t) => {
  const changed = await admin('organizations', 'plan', alice.organizationId, 'team')
  t.match(changed, { code: 0, out: "Alice's has the plan team now, before self-hosted.\n" })
  t.match((await logIn(api, alice.email, PASSWORD)).body, { organization: { plan: 'team' } })
  t.match(await doneByOperator(stores, alice.organizationId), [
    { action: 'organization.changed', details: { plan: { from: 'self-hosted', to: 'team' } } }
  ])
})

t.test('a person whose password is reset is signed out everywhere and need not wait', async (t) => {
  const frank = await signUp(api, 'Frank')
  const json = { email: frank.email, password: PASSWORD, remember: true }
  const before = await api.call('POST', '/v1/auth/login', { json })
  const { refreshToken } = before.body as { refreshToken: string }
  const cookie = before.headers.get('set-cookie')?.split(';')[0] ?? ''
  for (let i = 0; i < 5; i++) await logIn(api, frank.email, 'wrong')
  expectProblem(t, await logIn(api, frank.email, PASSWORD), 429, 'rate_limited')
  const reset = await admin('users', 'reset-password', ' FRANK@example.com')
  t.match(reset, { code: 0, out: /\n2 sessions were ended\.\n$/ })
  t.equal((await api.call('GET', '/v1/me', { headers: { cookie } })).status, 401)
  t.equal((await api.call('POST', '/v1/auth/refresh', { json: { refreshToken } })).status, 401)
  t.equal((await logIn(api, frank.email, PASSWORD)).status, 401)
  t.equal((await logIn(api, frank.email, wordAfter('password', reset.out))).status, 200)
  t.match(await doneByOperator(stores, frank.organizationId), [
    { action: 'password.reset', details: { sessionsEnded: 2 } }
  ])
})

t.test('a person whose identities are unlinked comes in by the new password alone', async (t) => {
  const grace = await signUp(api, 'Grace')
  for (const tenant of ['example.com', 'example.net']) {
    await stores.db.query(
      `insert into identities (provider, tenant, subject, user_id) values ('google', $1, 'g', $2)`,
      [tenant, grace.id]
    )
  }
  const identities = () => stores.db.query('select from identities where user_id = $1', [grace.id])
  t.notMatch((await admin('users', 'reset-password', grace.email)).out, /identit/)
  t.equal((await identities()).length, 2, 'which is asked for')
  t.match(await admin('users', 'reset-password', grace.email, '--unlink'), {
    code: 0,
    out: /\n2 identities were unlinked\.\n$/
  })
  t.equal((await identities()).length, 0)
  t.match(await doneByOperator(stores, grace.organizationId), [
    { action: 'sso.identity_unlinked', details: { tenant: 'example.net', reason: 'password_reset' } },
    { action: 'sso.identity_unlinked', details: { tenant: 'example.com', reason: 'password_reset' } },
    { action: 'password.reset' },
    { action: 'password.reset' }
  ])
})
