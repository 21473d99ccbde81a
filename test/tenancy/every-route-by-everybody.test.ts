import { type Test, t } from 'tap'
import { v7 as uuidv7 } from 'uuid'
import { ROLES, SCOPES, scopeOf, type UserRole } from '../../shared/contract/permissions.ts'
import type { RouteName } from '../../shared/contract/routes.ts'
import { type Answer, apiFor } from '../support/api.ts'
import { createAgent, createMonitor, PASSWORD, type Person, signUp } from '../support/cast.ts'
import {
  addressOf,
  GUARDED,
  type GuardedRoute,
  idsOf,
  namesSomething,
  PUBLIC,
  type Refusal,
  refusalOfKey,
  refusalOfRole,
  type Things
} from '../support/contract-walk.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'

const stores = await openStores(t)
const api = await apiFor(t, stores, { signInPoints: { account: 100, address: 1000 } })
const [alice, charlie] = [await signUp(api, 'Alice'), await signUp(api, 'Charlie')]

/** Bob is in Alice's organization, in whatever role a walk wants. */
async function putBob(person: Person, role: UserRole | null): Promise<void> {
  const { organizationId } = alice
  if (role === null) {
    await stores.db.query('delete from memberships where organization_id = $1 and user_id = $2', [
      organizationId,
      person.id
    ])
    return
  }
  await stores.db.query(
    `insert into memberships (organization_id, user_id, role) values ($1, $2, $3)
     on conflict (organization_id, user_id) do update set role = excluded.role`,
    [organizationId, person.id, role]
  )
}

async function signUpBob(): Promise<Person> {
  const person = await signUp(api, 'Bob')
  await putBob(person, 'member')
  const json = { email: person.email, password: PASSWORD, organizationId: alice.organizationId }
  const { body } = await api.call('POST', '/v1/auth/login', { json })
  return { ...person, organizationId: alice.organizationId, jwt: (body as { jwt: string }).jwt }
}

const bob = await signUpBob()
const monitor = await createMonitor(api, alice.jwt, { name: 'Shop', kind: 'heartbeat' })
const ourKey = (name: string, scopes: readonly string[]) =>
  createAgent(api, alice.jwt, { name, kind: 'service', scopes, monitorIds: [monitor.id] })
const agent = await ourKey('All', SCOPES)
const revoked = await ourKey('Revoked', SCOPES)
await api.call('POST', `/v1/agents/${revoked.id}/rotate`, { as: alice.jwt })
const outsider = await createAgent(api, alice.jwt, { name: 'Empty set', kind: 'service', scopes: SCOPES })
const spy = await createAgent(api, charlie.jwt, { name: 'Spy', kind: 'service', scopes: SCOPES })

/** A row put in by SQL, for what routes make only with mail or DNS; its id. */
async function insert(statement: string, values: unknown[]): Promise<string> {
  const id = uuidv7()
  await stores.db.query(statement, [id, alice.organizationId, ...values])
  return id
}

async function idOf(statement: string, value: string): Promise<string> {
  const [row] = await stores.db.query<{ id: string }>(statement, [value])
  if (row === undefined) throw new Error(`nothing there: ${statement}`)
  return row.id
}

const channelId = await insert(
  `insert into alert_channels (id, organization_id, kind, name, url, secret_sealed, events)
   values ($1, $2, 'webhook', 'Chat', 'https://example.com/', 'x', '{down}')`,
  []
)

/** One of each thing that a path or a query names by its id. */
const ours: Things = {
  monitors: monitor.id,
  agents: agent.id,
  keys: await idOf('select id from api_keys where agent_id = $1', agent.id),
  members: alice.id,
  sessions: await idOf('select id from sessions where user_id = $1', alice.id),
  invitations: await insert(
    `insert into invitations (id, organization_id, email, role, token_digest, pepper_version, expires_at)
     values ($1, $2, 'somebody@example.com', 'member', 'x', 1, now() + interval '1 day')`,
    []
  ),
  maintenance: await insert(
    `insert into maintenance_windows (id, organization_id, version, title, starts_at, ends_at, created_at, valid_from)
     values ($1, $2, gen_random_uuid(), 'Update', now(), now() + interval '1 hour', now(), now())`,
    []
  ),
  channels: channelId,
  deliveries: await insert(
    `insert into alert_deliveries (id, organization_id, channel_id, type, body, status, next_at)
     values ($1, $2, $3, 'channel.test', '{}', 'failed', now())`,
    [channelId]
  ),
  sso: await insert(
    `insert into sso_connections (id, organization_id, provider, tenant, domain, proof_token)
     values ($1, $2, 'google', 'example.com', 'example.com', 'proof')`,
    []
  )
}
const NEVER = '01890000-0000-7000-8000-000000000000'
const nothing: Things = Object.fromEntries(Object.keys(ours).map((name) => [name, NEVER]))

/** Good bodies where a path names something; elsewhere a body that no schema takes is enough, and changes nothing. */
const BODIES: { [N in RouteName]?: object } & Record<string, object> = {
  patchAgent: { name: 'Mine' },
  patchMonitor: { name: 'Mine' },
  patchMember: { role: 'member' },
  patchChannel: { name: 'Mine' },
  patchMaintenance: { title: 'Mine' }
}
const NO_BODY = { 'no such field': 1 }

type Entry = (typeof GUARDED)[number]

function send([name, route]: Entry, as: string | undefined, things: Things): Promise<Answer> {
  const json = route.body === undefined ? undefined : (BODIES[name] ?? NO_BODY)
  return api.call(route.method, addressOf(route, things), { json, ...(as === undefined ? {} : { as }) })
}

function withoutInstance(body: Record<string, unknown>): Record<string, unknown> {
  return { ...body, instance: '' }
}

/** Whoever may is answered by the route itself: by 404, where what it names was never there. */
function expectLetIn(t: Test, who: string, route: GuardedRoute, answer: Answer): void {
  if (namesSomething(route)) {
    expectProblem(t, answer, 404, 'not_found')
    return
  }
  t.notOk([401, 403].includes(answer.status) || answer.status >= 500, `${who}: ${JSON.stringify(answer)}`)
}

async function expectAsTold(
  t: Test,
  who: string,
  entry: Entry,
  { as, refusal }: { as: string; refusal: Refusal | null }
): Promise<void> {
  if (refusal === null) expectLetIn(t, who, entry[1], await send(entry, as, nothing))
  else {
    for (const things of [ours, nothing]) {
      expectProblem(t, await send(entry, as, things), refusal.status, refusal.code)
    }
  }
}

for (const entry of GUARDED) {
  const [name, route] = entry
  // Its answer never ends: test/live walks it.
  if (name === 'readLive') continue
  const title = `${route.method} ${route.path}`

  t.test(`${title} needs a credential that is still good`, async (t) => {
    const none = await send(entry, undefined, ours)
    expectProblem(t, none, 401, 'unauthorized')
    t.match(none.headers.get('www-authenticate'), /^Bearer realm="pulsegate"(?!.*error=)/)
    await putBob(bob, null)
    for (const as of [revoked.apiKey, bob.jwt, `${bob.jwt.slice(0, -4)}AAAA`, 'nonsense']) {
      const answer = await send(entry, as, ours)
      expectProblem(t, answer, 401, 'unauthorized')
      t.match(answer.headers.get('www-authenticate'), /^Bearer realm="pulsegate".*error="invalid_token"/)
    }
  })

  t.test(`${title} lets in the roles of the table and no others`, async (t) => {
    for (const role of ROLES) {
      await putBob(bob, role)
      await expectAsTold(t, role, entry, { as: bob.jwt, refusal: refusalOfRole(route, role) })
    }
  })

  t.test(`${title} lets in keys with the scope of the table and no others`, async (t) => {
    await expectAsTold(t, 'key', entry, { as: agent.apiKey, refusal: refusalOfKey(route, SCOPES) })
    const others = SCOPES.filter((scope) => scope !== scopeOf(route.auth))
    const lacking = await ourKey('Lacking', others)
    await expectAsTold(t, 'key', entry, { as: lacking.apiKey, refusal: refusalOfKey(route, others) })
  })

  if (namesSomething(route)) {
    t.test(`${title} answers a stranger, and a key outside its set, as if ours had never been there`, async (t) => {
      const strangers = [charlie.jwt, ...(scopeOf(route.auth) === null ? [] : [spy.apiKey, outsider.apiKey])]
      for (const as of strangers) {
        const foreign = expectProblem(t, await send(entry, as, ours), 404, 'not_found')
        const never = expectProblem(t, await send(entry, as, nothing), 404, 'not_found')
        t.same(withoutInstance(foreign), withoutInstance(never))
      }
    })
  } else if (route.method === 'GET') {
    t.test(`${title} shows a stranger nothing of ours`, async (t) => {
      const { status, body } = await send(entry, charlie.jwt, ours)
      t.equal(status, 200)
      for (const id of [alice.organizationId, ...Object.values(ours)]) t.notMatch(JSON.stringify(body), id)
    })
  }
}

t.test(
  'below /v1 only signing in and invitations are for everybody, and nothing there is named by its id',
  async (t) => {
    for (const [name, route] of PUBLIC) {
      t.match(route.path, /^\/(?!(api\/)?v1\/|api\/heartbeats)|^\/v1\/(auth|invitations)\//, name)
      t.same([...idsOf(route.params), ...idsOf(route.query)], [], name)
    }
  }
)

t.test('after all of that everything of ours is still there, unchanged', async (t) => {
  for (const [path, name] of [
    [`/v1/monitors/${monitor.id}`, 'Shop'],
    [`/v1/agents/${agent.id}`, 'All']
  ]) {
    t.match((await api.call('GET', path ?? '', { as: alice.jwt })).body, { name })
  }
  t.equal((await api.call('GET', '/v1/monitors', { as: agent.apiKey })).status, 200)
})
