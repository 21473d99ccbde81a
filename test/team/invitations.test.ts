import { type Test, t } from 'tap'
import type { SignedIn } from '../../shared/contract/auth.ts'
import { type Answer, apiFor } from '../support/api.ts'
import { captureLog } from '../support/captured-log.ts'
import { createAgent, invite, join, PASSWORD, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'

const { log, text: logged } = captureLog()
const stores = await openStores(t)
let ahead = 0
const clock = () => Date.now() + ahead
const signInPoints = { account: 1000, address: 1000 }
const api = await apiFor(t, { ...stores, log }, { clock, signInPoints, rateLimitScale: 100 })
const alice = await signUp(api, 'Alice')
const charlie = await signUp(api, 'Charlie')
const admin = await join(api, alice.jwt, 'Admin', 'admin')
const member = await join(api, alice.jwt, 'Member')
const DAY_MS = 86_400_000

const ask = (email: string, role = 'member', as = alice.jwt) =>
  api.call('POST', '/v1/team/invitations', { as, json: { email, role } })
const look = (token: string) => api.call('GET', `/v1/invitations/${token}`)
const accept = (token: string, json: object = { name: 'New', password: PASSWORD }, as?: string) =>
  api.call('POST', `/v1/invitations/${token}/accept`, { json, ...(as === undefined ? {} : { as }) })
const me = async ({ body }: Answer) =>
  (await api.call('GET', '/v1/me', { as: (body as SignedIn).jwt })).body as Record<string, unknown>
const trailOf = (action: string, name: string) =>
  stores.db.query('select actor_name, details from audit_log where action = $1 and target_name = $2 order by id', [
    action,
    name
  ])

/** What a link that is good for nothing is answered with, looked at and accepted. */
async function expectDead(t: Test, token: string): Promise<void> {
  expectProblem(t, await look(token), 404, 'not_found')
  expectProblem(t, await accept(token), 404, 'not_found')
}

t.test('without mail an invitation is a link that the admin hands over, shown once', async (t) => {
  const { status, body, headers } = await ask(' Link@Example.com ', 'member', admin.jwt)
  t.equal(status, 201)
  t.equal(headers.get('cache-control'), 'no-store')
  t.match(body, { email: 'link@example.com', role: 'member', invitedBy: { id: admin.id, name: 'Admin' } })
  const { id, url, createdAt, expiresAt } = body as Record<string, string>
  t.match(url, /^https:\/\/localhost:\d+\/invitations\/pgi_[0-9A-Za-z]{43}$/)
  t.equal(Date.parse(String(expiresAt)) - Date.parse(String(createdAt)), 7 * DAY_MS)
  const list = await api.call('GET', '/v1/team/invitations?limit=1', { as: member.jwt })
  t.match(list.body, { data: [{ id, email: 'link@example.com' }], nextCursor: null })
  t.notMatch(JSON.stringify(list.body), /pgi_/)
  t.match(await trailOf('invitation.created', 'link@example.com'), [{ actor_name: admin.email }])
})

t.test('lists go page by page, newest first', async (t) => {
  for (const name of ['p1', 'p2', 'p3']) await ask(`${name}@example.com`)
  const pages: string[] = []
  let cursor = ''
  for (const _ of [1, 2]) {
    const { body } = await api.call('GET', `/v1/team/invitations?limit=2${cursor}`, { as: alice.jwt })
    const { data, nextCursor } = body as { data: Array<{ email: string }>; nextCursor: string }
    pages.push(data.map(({ email }) => email).join(' '))
    cursor = `&cursor=${nextCursor}`
  }
  t.same(pages, ['p3@example.com p2@example.com', 'p1@example.com link@example.com'])
  expectProblem(t, await api.call('GET', '/v1/team/invitations?cursor=x', { as: alice.jwt }), 400, 'invalid_cursor')
})

t.test('who has no account makes one by the link and is signed in with the role offered', async (t) => {
  const token = await invite(api, alice.jwt, 'new@example.com', 'admin')
  t.match((await look(token)).body, {
    organizationName: "Alice's",
    email: 'new@example.com',
    role: 'admin',
    expiresAt: String,
    accountExists: false
  })
  const joined = await accept(token)
  t.equal(joined.status, 200)
  t.equal(joined.headers.get('cache-control'), 'no-store')
  t.match(joined.headers.get('set-cookie'), /^__Host-session=/)
  t.match(joined.body, { expiresIn: 86_400, user: { email: 'new@example.com' }, organization: { name: "Alice's" } })
  t.match(await me(joined), { role: 'admin', organization: { id: alice.organizationId } })
  const login = await api.call('POST', '/v1/auth/login', { json: { email: 'new@example.com', password: PASSWORD } })
  t.equal(login.status, 200)
  t.match(await trailOf('invitation.accepted', 'new@example.com'), [{ actor_name: 'new@example.com' }])
  await expectDead(t, token)
})

t.test('what a new account lacks is named', async (t) => {
  const token = await invite(api, alice.jwt, 'faults@example.com')
  const faults = async (json: object) => faultsOf(expectProblem(t, await accept(token, json), 422, 'validation_failed'))
  t.same(await faults({}), ['/name missing_field', '/password missing_field'])
  t.same(await faults({ password: PASSWORD }), ['/name missing_field'])
  t.same(await faults({ name: 'N', password: PASSWORD, role: 'owner' }), ['/role unknown_field'])
  expectProblem(t, await accept(token, { name: 'N', password: 'short' }), 422, 'password_too_short')
  t.equal((await look(token)).status, 200, 'and the link is still good')
})

t.test('a person of another organization joins while signed in, and belongs to both', async (t) => {
  const token = await invite(api, alice.jwt, charlie.email)
  t.match((await look(token)).body, { accountExists: true })
  const joined = await accept(token, {}, charlie.jwt)
  t.match(joined.body, { user: { id: charlie.id }, organization: { id: alice.organizationId } })
  t.match(await me(joined), { role: 'member' })
  t.equal((await api.call('GET', '/v1/me', { as: charlie.jwt })).status, 200, 'the other sign-in stays')
  const json = { email: charlie.email, password: PASSWORD, organizationId: alice.organizationId }
  t.equal((await api.call('POST', '/v1/auth/login', { json })).status, 200)
})

t.test('a session recognises the invited person as well', async (t) => {
  const zoe = await signUp(api, 'Zoe')
  const login = await api.call('POST', '/v1/auth/login', { json: { email: zoe.email, password: PASSWORD } })
  const cookie = String(login.headers.get('set-cookie')).split(';')[0] ?? ''
  const token = await invite(api, alice.jwt, zoe.email)
  const headers = { cookie, 'sec-fetch-site': 'same-origin' }
  const joined = await api.call('POST', `/v1/invitations/${token}/accept`, { json: {}, headers })
  t.match(joined.body, { user: { id: zoe.id }, organization: { id: alice.organizationId } })
})

t.test('the link of another person is refused, and stays good for them', async (t) => {
  const token = await invite(api, alice.jwt, 'someone@example.com')
  expectProblem(t, await accept(token, {}, charlie.jwt), 403, 'invitation_of_another')
  t.equal((await accept(token)).status, 200)
})

t.test('the link alone takes no account over', async (t) => {
  const yves = await signUp(api, 'Yves')
  const token = await invite(api, alice.jwt, yves.email)
  expectProblem(t, await accept(token, {}), 409, 'sign_in_first')
  const words = { name: 'Mallory', password: 'a password of somebody else' }
  expectProblem(t, await accept(token, words), 409, 'sign_in_first')
  expectProblem(t, await accept(token, { ...words, password: PASSWORD }), 409, 'sign_in_first')
  const { body } = await api.call('POST', '/v1/auth/login', { json: { email: yves.email, password: PASSWORD } })
  t.match(body, { user: { name: 'Yves' }, organization: { id: yves.organizationId } })
})

t.test('an account that belongs nowhere any more comes back by its own password', async (t) => {
  const xenia = await join(api, alice.jwt, 'Xenia')
  await api.call('DELETE', `/v1/team/members/${xenia.id}`, { as: alice.jwt })
  const token = await invite(api, alice.jwt, xenia.email)
  expectProblem(t, await accept(token, {}), 409, 'sign_in_first')
  expectProblem(t, await accept(token, { name: 'X', password: 'not the password' }), 401, 'invalid_credentials')
  const back = await accept(token, { name: 'X', password: PASSWORD })
  t.match(back.body, { user: { id: xenia.id, name: 'Xenia' }, organization: { id: alice.organizationId } })
})

t.test('who has signed out does not join by a token that still runs', async (t) => {
  const walt = await signUp(api, 'Walt')
  await stores.db.query('update sessions set ended_at = now() where user_id = $1', [walt.id])
  const token = await invite(api, alice.jwt, walt.email)
  expectProblem(t, await accept(token, {}, walt.jwt), 401, 'unauthorized')
})

t.test('neither a key nor a bad token accepts an invitation', async (t) => {
  const token = await invite(api, alice.jwt, 'keys@example.com')
  const { apiKey } = await createAgent(api, alice.jwt, { name: 'Key' })
  expectProblem(t, await accept(token, {}, apiKey), 403, 'forbidden')
  expectProblem(t, await accept(token, {}, `${alice.jwt}x`), 401, 'unauthorized')
})

t.test('a second invitation of an address replaces the first', async (t) => {
  const first = await invite(api, alice.jwt, 'twice@example.com')
  const second = await invite(api, alice.jwt, 'TWICE@example.com', 'admin')
  await expectDead(t, first)
  t.match((await look(second)).body, { role: 'admin' })
})

t.test('an invitation that is taken back is good for nothing', async (t) => {
  const { body } = await ask('back@example.com')
  const { id, url } = body as { id: string; url: string }
  const path = `/v1/team/invitations/${id}`
  expectProblem(t, await api.call('DELETE', path, { as: charlie.jwt }), 404, 'not_found')
  t.equal((await api.call('DELETE', path, { as: admin.jwt })).status, 204)
  expectProblem(t, await api.call('DELETE', path, { as: admin.jwt }), 404, 'not_found')
  await expectDead(t, url.replace(/.*\//, ''))
  t.match(await trailOf('invitation.revoked', 'back@example.com'), [{ actor_name: admin.email }])
})

t.test('an invitation that was accepted cannot be taken back', async (t) => {
  const { body } = await ask('done@example.com')
  const { id, url } = body as { id: string; url: string }
  t.equal((await accept(url.replace(/.*\//, ''))).status, 200)
  expectProblem(t, await api.call('DELETE', `/v1/team/invitations/${id}`, { as: alice.jwt }), 404, 'not_found')
})

t.test('of two who use one link at the same moment one joins', async (t) => {
  const token = await invite(api, alice.jwt, 'race@example.com')
  const answers = await Promise.all([accept(token), accept(token), accept(token)])
  const statuses = answers.map(({ status }) => status).sort()
  t.equal(statuses[0], 200)
  t.ok(statuses.slice(1).every((status) => status === 404 || status === 409))
  t.equal((await stores.db.query("select id from users where email = 'race@example.com'")).length, 1)
})

t.test('a member is not invited again', async (t) => {
  expectProblem(t, await ask(member.email), 409, 'already_member')
})

t.test('members invite nobody, and only owners invite owners', async (t) => {
  expectProblem(t, await ask('x@example.com', 'member', member.jwt), 403, 'forbidden')
  expectProblem(t, await ask('x@example.com', 'owner', admin.jwt), 403, 'forbidden')
  const { status, body } = await ask('x@example.com', 'owner')
  t.equal(status, 201)
  expectProblem(t, await ask('x@example.com', 'member', admin.jwt), 403, 'forbidden')
  const path = `/v1/team/invitations/${(body as { id: string }).id}`
  expectProblem(t, await api.call('DELETE', path, { as: admin.jwt }), 403, 'forbidden')
  t.match((await accept((body as { url: string }).url.replace(/.*\//, ''))).body, { user: { name: 'New' } })
})

t.test('an admin who is removed or loses the role takes the own invitations along', async (t) => {
  const vera = await join(api, alice.jwt, 'Vera', 'owner')
  const tokens = {
    owner: await invite(api, vera.jwt, 'vera-owner@example.com', 'owner'),
    admin: await invite(api, vera.jwt, 'vera-admin@example.com', 'admin'),
    member: await invite(api, vera.jwt, 'vera-member@example.com')
  }
  const path = `/v1/team/members/${vera.id}`
  await api.call('PATCH', path, { as: alice.jwt, json: { role: 'admin' } })
  await expectDead(t, tokens.owner)
  t.equal((await look(tokens.admin)).status, 200)
  await api.call('DELETE', path, { as: alice.jwt })
  await expectDead(t, tokens.admin)
  await expectDead(t, tokens.member)
  t.match(await trailOf('invitation.revoked', 'vera-owner@example.com'), [{ actor_name: alice.email }])
})

t.test('an organization that asks for single sign-on is not joined by a password', async (t) => {
  const una = await signUp(api, 'Una')
  const token = await invite(api, una.jwt, 'sso@example.com')
  await stores.db.query('update organizations set sso_required = true where id = $1', [una.organizationId])
  t.match((await look(token)).body, { ssoRequired: true })
  expectProblem(t, await accept(token), 403, 'sso_required')
})

t.test('nobody joins a suspended organization', async (t) => {
  const theo = await signUp(api, 'Theo')
  const token = await invite(api, theo.jwt, 'suspended@example.com')
  await stores.db.query('update organizations set suspended_at = now() where id = $1', [theo.organizationId])
  await expectDead(t, token)
})

t.test('a token that never was is answered like one that is over', async (t) => {
  const taken = await invite(api, alice.jwt, 'taken@example.com')
  await accept(taken)
  const used = expectProblem(t, await look(taken), 404, 'not_found')
  const never = expectProblem(t, await look(`pgi_${'x'.repeat(43)}`), 404, 'not_found')
  t.same({ ...used, instance: '' }, { ...never, instance: '' })
  expectProblem(t, await look('pgi_short'), 404, 'not_found')
  expectProblem(t, await accept('x'), 404, 'not_found')
})

t.test('an address that is none, or a role that is none, is refused', async (t) => {
  t.same(faultsOf(expectProblem(t, await ask('bob'), 422, 'validation_failed')), ['/email invalid_value'])
  t.same(faultsOf(expectProblem(t, await ask('bob@example.com', 'king'), 422, 'validation_failed')), [
    '/role invalid_value'
  ])
})

t.test('an organization invites 30 times a minute', async (t) => {
  const strict = await apiFor(t, stores)
  const sam = await signUp(strict, 'Sam')
  const send = (i: number) =>
    strict.call('POST', '/v1/team/invitations', { as: sam.jwt, json: { email: `s${i}@example.com`, role: 'member' } })
  let answer = await send(0)
  // The minute may turn in between.
  for (let i = 1; answer.status === 201 && i <= 60; i++) answer = await send(i)
  expectProblem(t, answer, 429, 'rate_limited')
  t.ok(Number(answer.headers.get('retry-after')) > 0)
})

t.test('a link is good for seven days', async (t) => {
  const token = await invite(api, alice.jwt, 'late@example.com')
  ahead = 7 * DAY_MS - 60_000
  t.equal((await look(token)).status, 200)
  ahead = 7 * DAY_MS
  await expectDead(t, token)
  ahead = 0
})

t.test('the token stands neither in the log nor in the database', async (t) => {
  const token = await invite(api, alice.jwt, 'secret@example.com')
  await look(token)
  await accept(token, {}, charlie.jwt)
  t.match(logged(), '/v1/invitations/{token}/accept')
  t.notMatch(logged(), /pgi_/)
  const rows = await stores.db.query("select i::text from invitations i where email = 'secret@example.com'")
  t.equal(rows.length, 1)
  t.notMatch(JSON.stringify(rows), token.slice(4))
  t.notMatch(JSON.stringify(await stores.db.query('select a::text from audit_log a')), /pgi_/)
})
