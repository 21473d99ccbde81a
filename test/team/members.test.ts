import { t } from 'tap'
import type { MemberAnswer } from '../../shared/contract/team.ts'
import { apiFor } from '../support/api.ts'
import { createMonitor, invite, join, PASSWORD, type Person, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'

const stores = await openStores(t)
const signInPoints = { account: 1000, address: 1000 }
const api = await apiFor(t, stores, { signInPoints, rateLimitScale: 100 })
const alice = await signUp(api, 'Alice')
const charlie = await signUp(api, 'Charlie')
const owner = await join(api, alice.jwt, 'Owner', 'owner')
const admin = await join(api, alice.jwt, 'Admin', 'admin')
const member = await join(api, alice.jwt, 'Member')
const NEVER = '01890000-0000-7000-8000-000000000000'

const change = (as: Person, id: string, role: string) =>
  api.call('PATCH', `/v1/team/members/${id}`, { as: as.jwt, json: { role } })
const remove = (as: Person, id: string) => api.call('DELETE', `/v1/team/members/${id}`, { as: as.jwt })
const leave = (as: Person) => api.call('POST', '/v1/organization/leave', { as: as.jwt })
const me = (as: Person) => api.call('GET', '/v1/me', { as: as.jwt })
const trailOf = (target: string) =>
  stores.db.query('select action, actor_name, details from audit_log where target_id = $1 order by id', [target])

t.test('everybody sees who is in the organization, page by page, who joined last first', async (t) => {
  const names: string[] = []
  let cursor = ''
  for (const _ of [1, 2]) {
    const { status, body } = await api.call('GET', `/v1/team/members?limit=2${cursor}`, { as: member.jwt })
    t.equal(status, 200)
    const { data, nextCursor } = body as { data: MemberAnswer[]; nextCursor: string | null }
    names.push(...data.map(({ name, role }) => `${name} ${role}`))
    cursor = nextCursor === null ? '' : `&cursor=${nextCursor}`
  }
  t.same(names, ['Member member', 'Admin admin', 'Owner owner', 'Alice owner'])
  t.equal(cursor, '')
  const { body } = await api.call('GET', '/v1/team/members?limit=1', { as: alice.jwt })
  const [newest] = (body as { data: MemberAnswer[] }).data
  t.match(newest, { id: member.id, email: member.email })
  for (const time of [newest?.joinedAt, newest?.lastSeenAt]) t.ok(Date.now() - Date.parse(String(time)) < 60_000)
  expectProblem(t, await api.call('GET', '/v1/team/members?cursor=eA', { as: alice.jwt }), 400, 'invalid_cursor')
})

t.test('a new role counts at once, for tokens that are older than it', async (t) => {
  const create = () => api.call('POST', '/v1/agents', { as: member.jwt, json: { name: 'A', kind: 'agent' } })
  expectProblem(t, await create(), 403, 'forbidden')
  const { status, body } = await change(admin, member.id, 'admin')
  t.equal(status, 200)
  t.match(body, { id: member.id, role: 'admin' })
  t.equal((await create()).status, 201)
  t.equal((await change(admin, member.id, 'member')).status, 200)
  expectProblem(t, await create(), 403, 'forbidden')
  const noted = (await trailOf(member.id)).filter(({ action }) => action === 'member.role_changed')
  t.match(noted, [
    { actor_name: admin.email, details: { from: 'member', to: 'admin' } },
    { actor_name: admin.email, details: { from: 'admin', to: 'member' } }
  ])
  const before = (await trailOf(member.id)).length
  t.equal((await change(admin, member.id, 'member')).status, 200, 'the same role again')
  t.equal((await trailOf(member.id)).length, before, 'is no change')
})

t.test('admins do not touch owners, nor make any', async (t) => {
  expectProblem(t, await change(admin, owner.id, 'member'), 403, 'forbidden')
  expectProblem(t, await change(admin, member.id, 'owner'), 403, 'forbidden')
  expectProblem(t, await change(admin, admin.id, 'owner'), 403, 'forbidden')
  expectProblem(t, await remove(admin, owner.id), 403, 'forbidden')
})

t.test('members change nobody', async (t) => {
  expectProblem(t, await change(member, member.id, 'owner'), 403, 'forbidden')
  expectProblem(t, await change(member, admin.id, 'member'), 403, 'forbidden')
  expectProblem(t, await remove(member, admin.id), 403, 'forbidden')
})

t.test('people of another organization are as unknown as those who never were', async (t) => {
  for (const id of [charlie.id, NEVER, 'not-an-id']) {
    expectProblem(t, await change(alice, id, 'member'), 404, 'not_found')
    expectProblem(t, await remove(alice, id), 404, 'not_found')
  }
  expectProblem(t, await change(charlie, member.id, 'admin'), 404, 'not_found')
  const { body } = await api.call('GET', '/v1/team/members', { as: charlie.jwt })
  t.match(body, { data: [{ id: charlie.id }], nextCursor: null })
  t.equal((body as { data: unknown[] }).data.length, 1)
})

t.test('a role that is none is refused', async (t) => {
  const body = expectProblem(t, await change(alice, member.id, 'king'), 422, 'validation_failed')
  t.same(faultsOf(body), ['/role invalid_value'])
})

t.test('who is removed is out at once: by token, by session and by refresh token', async (t) => {
  const token = await invite(api, alice.jwt, 'gone@example.com')
  const json = { name: 'Gone', password: PASSWORD }
  await api.call('POST', `/v1/invitations/${token}/accept`, { json })
  const login = await api.call('POST', '/v1/auth/login', {
    json: { email: 'gone@example.com', password: PASSWORD, remember: true }
  })
  const { jwt, user } = login.body as { jwt: string; user: { id: string } }
  const cookie = String(login.headers.get('set-cookie')).split(';')[0] ?? ''
  const read = async () => [
    (await api.call('GET', '/v1/me', { as: jwt })).status,
    (await api.call('GET', '/v1/me', { headers: { cookie } })).status
  ]
  const tokens = () =>
    stores.db.query('select 1 from refresh_tokens r join sessions s on s.id = r.session_id where s.user_id = $1', [
      user.id
    ])
  t.same(await read(), [200, 200])
  t.equal((await tokens()).length, 1)
  t.equal((await remove(admin, user.id)).status, 204)
  t.same(await read(), [401, 401])
  t.same(await tokens(), [])
  const again = await api.call('POST', '/v1/auth/login', { json: { email: 'gone@example.com', password: PASSWORD } })
  expectProblem(t, again, 401, 'invalid_credentials')
  t.match((await trailOf(user.id)).at(-1), { action: 'member.removed', actor_name: admin.email })
})

t.test('who is removed from one organization stays in the others', async (t) => {
  const token = await invite(api, alice.jwt, charlie.email)
  const joined = await api.call('POST', `/v1/invitations/${token}/accept`, { as: charlie.jwt, json: {} })
  const here = { ...charlie, jwt: (joined.body as { jwt: string }).jwt }
  t.equal((await remove(alice, charlie.id)).status, 204)
  t.equal((await me(here)).status, 401)
  t.equal((await me(charlie)).status, 200)
})

t.test('who leaves is out at once, and what they made stays', async (t) => {
  const bob = await join(api, alice.jwt, 'Bob')
  const monitor = await createMonitor(api, bob.jwt, { name: 'Kept', kind: 'push' })
  t.equal((await leave(bob)).status, 204)
  t.equal((await me(bob)).status, 401)
  t.equal((await api.call('GET', `/v1/monitors/${monitor.id}`, { as: alice.jwt })).status, 200)
  t.match((await trailOf(bob.id)).at(-1), { action: 'member.left', actor_name: bob.email })
})

t.test('leaving takes the cookie out of the browser', async (t) => {
  const { email } = await join(api, alice.jwt, 'Browser')
  const login = await api.call('POST', '/v1/auth/login', { json: { email, password: PASSWORD } })
  const cookie = String(login.headers.get('set-cookie')).split(';')[0] ?? ''
  const headers = { cookie, 'sec-fetch-site': 'same-origin' }
  const left = await api.call('POST', '/v1/organization/leave', { headers })
  t.equal(left.status, 204)
  t.match(left.headers.get('set-cookie'), /^__Host-session=;.*Max-Age=0/)
})

t.test('the last owner cannot go, be removed or become less', async (t) => {
  const dora = await signUp(api, 'Dora')
  const second = await join(api, dora.jwt, 'Second', 'admin')
  expectProblem(t, await leave(dora), 409, 'last_owner')
  expectProblem(t, await change(dora, dora.id, 'admin'), 409, 'last_owner')
  expectProblem(t, await remove(dora, dora.id), 409, 'last_owner')
  t.equal((await change(dora, second.id, 'owner')).status, 200)
  t.equal((await change(dora, dora.id, 'member')).status, 200)
  expectProblem(t, await leave(second), 409, 'last_owner')
  t.equal((await leave(dora)).status, 204)
})
