import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { createAgent, createMonitor, PASSWORD, type Person, signUp } from '../support/cast.ts'
import { dataDirFor } from '../support/data-dir.ts'
import { connectAgent } from '../support/fake-agent.ts'
import { gatewayFor, openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'
import { runScript } from '../support/run-script.ts'
import { waitFor } from '../support/wait-for.ts'

const stores = await openStores(t)
const api = await apiFor(t, stores)
const env = {
  DATABASE_URL: stores.databaseUrl,
  REDIS_URL: stores.redisUrl,
  REDIS_PREFIX: stores.prefix,
  SECRETS_KEY: stores.secretsKey
}
const admin = (...args: string[]) => runScript('scripts/admin.ts', env, ...args)
const logIn = (email: string, password: string) => api.call('POST', '/v1/auth/login', { json: { email, password } })
const alice = await signUp(api, 'Alice')

/** What the operator did to an organization, newest first. */
async function doneTo({ organizationId }: Pick<Person, 'organizationId'>) {
  const rows = await stores.db.query<{ action: string; details: Record<string, unknown> }>(
    `select action, details from audit_log where organization_id = $1 and actor_kind = 'operator' order by id desc`,
    [organizationId]
  )
  return rows
}

/** A word that stands after its name in the answer of a command. */
function wordAfter(name: string, out: string): string {
  return new RegExp(`^${name} +(\\S+)$`, 'm').exec(out)?.[1] ?? ''
}

t.test('an organization is created with an owner, whose password is shown once', async (t) => {
  const made = await admin('organizations', 'create', '--name', 'Acme', '--owner-email', 'Dora@example.com')
  t.match(made, { code: 0, err: '' })
  const signedIn = await logIn('dora@example.com', wordAfter('password', made.out))
  const organizationId = wordAfter('organization', made.out)
  t.match(signedIn, { status: 200, body: { organization: { id: organizationId, name: 'Acme', plan: 'self-hosted' } } })
  t.match(await doneTo({ organizationId }), [
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
  t.match(await doneTo(erin), [{ details: { suspended: false } }, { details: { suspended: true } }])
})

t.test('a plan is changed', async (t) => {
  const changed = await admin('organizations', 'plan', alice.organizationId, 'team')
  t.match(changed, { code: 0, out: "Alice's has the plan team now, before self-hosted.\n" })
  t.match((await logIn(alice.email, PASSWORD)).body, { organization: { plan: 'team' } })
  t.match(await doneTo(alice), [
    { action: 'organization.changed', details: { plan: { from: 'self-hosted', to: 'team' } } }
  ])
})

t.test('a person whose password is reset is signed out everywhere', async (t) => {
  const frank = await signUp(api, 'Frank')
  const before = await api.call('POST', '/v1/auth/login', { json: { email: frank.email, password: PASSWORD } })
  const cookie = before.headers.get('set-cookie')?.split(';')[0] ?? ''
  const reset = await admin('users', 'reset-password', ' FRANK@example.com')
  t.match(reset, { code: 0, out: /\n2 sessions were ended\.\n$/ })
  t.equal((await api.call('GET', '/v1/me', { headers: { cookie } })).status, 401)
  t.equal((await logIn(frank.email, PASSWORD)).status, 401)
  t.equal((await logIn(frank.email, wordAfter('password', reset.out))).status, 200)
  t.match(await doneTo(frank), [{ action: 'password.reset', details: { sessionsEnded: 2 } }])
})

t.test('a key is found by its ends and revoked everywhere', async (t) => {
  const grace = await signUp(api, 'Grace')
  const { apiKey } = await createAgent(api, grace.jwt, { name: 'Rack 7', kind: 'service', monitorIds: [] })
  t.equal((await api.call('GET', '/api/heartbeats', { as: apiKey })).status, 403)
  const listed = await admin('keys', 'list', '--organization', grace.organizationId)
  t.match(listed.out, /^\S{36} {2}pgs_\S+…\S{4} {2}active {2}made 20\S+Z {2}used \S+ {2}Rack 7\n1 key\.\n$/)
  t.notMatch(listed.out, apiKey)
  const keyId = listed.out.slice(0, 36)
  t.match(await admin('keys', 'revoke', keyId), { code: 0, out: /^The key pgs_\S+ of Rack 7 is revoked\.\n$/ })
  await waitFor(async () => (await api.call('GET', '/api/heartbeats', { as: apiKey })).status === 401)
  t.match(await admin('keys', 'revoke', keyId), { code: 0, out: /revoked already\.\n$/ })
  t.match(await doneTo(grace), [{ action: 'key.revoked', details: { agentName: 'Rack 7' } }])
})

t.test('signing keys are rotated in order, or at once', async (t) => {
  const heidi = await signUp(api, 'Heidi')
  t.match(await admin('signing-keys', 'rotate'), { code: 0, out: /^The next key is published/ })
  t.match((await admin('signing-keys', 'list')).out, /^\S+ +active +since \S+\n\S+ +next +since \S+\n$/)
  t.match(await admin('signing-keys', 'rotate', '--now'), { code: 0, out: /^The key \S+ signs now/ })
  t.match((await admin('signing-keys', 'list')).out, /^\S+ +active +since \S+\n$/)
  t.match(await doneTo(heidi), [
    { action: 'signing_key.rotated', details: { now: true } },
    { action: 'signing_key.rotated', details: { now: false } }
  ])
})

t.test('the commands find the stores and the key of a running npm start in its data folder', async (t) => {
  const DATA_DIR = await dataDirFor(t)
  const keep = (folder: string, address: string) => {
    const { port, password } = new URL(address)
    mkdirSync(join(DATA_DIR, folder))
    writeFileSync(join(DATA_DIR, folder, 'port'), `${port}\n`)
    writeFileSync(join(DATA_DIR, folder, 'password'), `${decodeURIComponent(password)}\n`)
  }
  keep('postgres', stores.databaseUrl)
  keep('redis', stores.redisUrl)
  writeFileSync(join(DATA_DIR, 'secrets-key'), `${stores.secretsKey}\n`)
  // All but the database's name can be left there by a test, so what is found is the server's own, which holds nothing.
  const { err } = await runScript('scripts/admin.ts', { DATA_DIR }, 'signing-keys', 'list')
  t.match(err, /relation "pgmigrations" does not exist/)
})

t.test('what there is not is told, and what is no command gets the list of them', async (t) => {
  const nobody = '01990000-0000-7000-8000-000000000000'
  t.same(await admin('organizations', 'suspend', nobody), {
    code: 1,
    out: '',
    err: `There is no organization ${nobody}.\n`
  })
  t.match(await admin('users', 'reset-password', 'nobody@example.com'), {
    code: 1,
    err: 'There is no account nobody@example.com.\n'
  })
  const usage = { code: 64, out: '', err: /Usage: npm run admin -- <command>/ }
  const wrong = [
    [],
    ['organizations', 'dance'],
    ['organizations', 'plan', nobody, 'gold'],
    ['keys', 'list'],
    ['--what']
  ]
  for (const args of wrong) t.match(await runScript('scripts/admin.ts', {}, ...args), usage, args.join(' '))
  const bare = await runScript('scripts/admin.ts', { DATA_DIR: await dataDirFor(t) }, 'signing-keys', 'list')
  t.match(bare, {
    code: 1,
    out: '',
    err: /^The configuration is not right\. DATABASE_URL: .*REDIS_URL: .*SECRETS_KEY: /
  })
})
