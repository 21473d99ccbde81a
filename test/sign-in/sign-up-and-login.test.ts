import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { PASSWORD, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'

const NEW = { organizationName: 'Acme', name: 'Zoe', email: 'zoe@example.com', password: PASSWORD }

const stores = await openStores(t)
const points = { account: 1000, address: 1000 }
const api = await apiFor(t, stores, { signInPoints: points })
const alice = await signUp(api, 'Alice')
const logIn = (json: object, path = '/v1/auth/login') => api.call('POST', path, { json })
const trySignUp = (fields: object) => api.call('POST', '/v1/auth/signup', { json: { ...NEW, ...fields } })

for (const path of ['/v1/auth/login', '/api/v1/auth/login']) {
  t.test(`a right password is answered with a JWT at ${path}`, async (t) => {
    const { status, body, headers } = await logIn({ email: alice.email, password: PASSWORD }, path)
    t.equal(status, 200)
    t.match(body, { jwt: /^eyJ/, tokenType: 'Bearer', expiresIn: 86_400, user: { id: alice.id, email: alice.email } })
    t.match(body, { organization: { id: alice.organizationId, plan: 'self-hosted' } })
    t.equal(headers.get('cache-control'), 'no-store')
    t.notMatch(JSON.stringify(body), /password/i)
  })
}

t.test('sign-up answers below /api too, and makes an owner', async (t) => {
  const made = await api.call('POST', '/api/v1/auth/signup', { json: NEW })
  t.equal(made.status, 201)
  const me = await api.call('GET', '/v1/me', { as: (made.body as { jwt: string }).jwt })
  t.match(me.body, { user: { email: NEW.email }, organization: { name: 'Acme' }, role: 'owner' })
})

t.test('a wrong password and an unknown account get the same answer', async (t) => {
  const wrong = expectProblem(t, await logIn({ email: alice.email, password: 'wrong' }), 401, 'invalid_credentials')
  const unknown = expectProblem(
    t,
    await logIn({ email: 'nobody@example.com', password: 'x' }),
    401,
    'invalid_credentials'
  )
  t.same({ ...wrong, instance: '' }, { ...unknown, instance: '' })
})

t.test('the case of an e-mail address does not matter', async (t) => {
  t.equal((await logIn({ email: ' ALICE@Example.com', password: PASSWORD })).status, 200)
  expectProblem(t, await trySignUp({ email: 'ALICE@example.com' }), 409, 'email_in_use')
})

t.test('a password typed in another Unicode form is the same password', async (t) => {
  await trySignUp({ email: 'nfkc@example.com', password: 'ｆｕｌｌ width and é all along' })
  t.equal((await logIn({ email: 'nfkc@example.com', password: 'full width and e\u0301 all along' })).status, 200)
})

t.test('a password of more than 72 bytes counts whole', async (t) => {
  const long = 'x1 '.repeat(300)
  await trySignUp({ email: 'long@example.com', password: `${long}a` })
  t.equal((await logIn({ email: 'long@example.com', password: `${long}b` })).status, 401)
  t.equal((await logIn({ email: 'long@example.com', password: `${long}a` })).status, 200)
})

const refused: Array<[name: string, fields: object, code: string, faults: string[]]> = [
  ['a short password', { password: 'fourteen chars' }, 'password_too_short', ['/password password_too_short']],
  ['a common password', { password: 'PasswordPassword' }, 'password_too_common', ['/password password_too_common']],
  ['an endless password', { password: 'ab'.repeat(600) }, 'validation_failed', ['/password too_long']],
  ['no e-mail address', { email: 'alice' }, 'validation_failed', ['/email invalid_value']],
  ['an empty name', { name: ' ' }, 'validation_failed', ['/name too_short']],
  ['a U+0000 in a name', { name: 'a\u0000b' }, 'validation_failed', ['/name invalid_value']],
  ['a number for a name', { name: 7 }, 'validation_failed', ['/name invalid_value']],
  ['a missing field', { organizationName: undefined }, 'validation_failed', ['/organizationName missing_field']],
  ['an unknown field', { role: 'owner' }, 'validation_failed', ['/role unknown_field']]
]
for (const [name, fields, code, faults] of refused) {
  t.test(`${name} is refused`, async (t) => {
    const body = expectProblem(t, await trySignUp({ email: 'new@example.com', ...fields }), 422, code)
    t.same(faultsOf(body), faults)
  })
}

t.test('an address with U+0000 is refused before it is looked up', async (t) => {
  const json = { email: 'alice\u0000@example.com', password: PASSWORD }
  t.same(faultsOf(expectProblem(t, await logIn(json), 422, 'validation_failed')), ['/email invalid_value'])
  const forgotten = await api.call('POST', '/v1/auth/password/forgot', { json: { email: json.email } })
  t.same(faultsOf(expectProblem(t, forgotten, 422, 'validation_failed')), ['/email invalid_value'])
})

t.test('a suspended organization lets nobody in', async (t) => {
  const dora = await signUp(api, 'Dora')
  await stores.db.query('update organizations set suspended_at = now() where id = $1', [dora.organizationId])
  expectProblem(t, await logIn({ email: dora.email, password: PASSWORD }), 403, 'organization_suspended')
  expectProblem(t, await api.call('GET', '/v1/me', { as: dora.jwt }), 403, 'organization_suspended')
})

t.test('sign-ins that failed too often have to wait', async (t) => {
  const stores = await openStores(t)
  const api = await apiFor(t, stores, { signInPoints: { account: 5, address: 30 } })
  const { email } = await signUp(api, 'Alice')
  const logIn = (who: string, password: string) =>
    api.call('POST', '/v1/auth/login', { json: { email: who, password } })

  t.test('after 5 for an account, known or not, even with the right password', async (t) => {
    for (const who of [email, 'nobody@example.com']) {
      const answers = await Promise.all(Array.from({ length: 8 }, () => logIn(who, 'wrong')))
      t.same(answers.map(({ status }) => status).sort(), [401, 401, 401, 401, 401, 429, 429, 429])
    }
    const answer = await logIn(email, PASSWORD)
    expectProblem(t, answer, 429, 'rate_limited')
    const wait = Number(answer.headers.get('retry-after'))
    t.ok(wait > 0 && wait <= 30, `Retry-After ${wait}`)
  })

  t.test('after 30 from an address, whatever the account', async (t) => {
    let last = await logIn('someone@example.com', 'wrong')
    for (let i = 0; i < 30; i++) last = await logIn(`someone${i}@example.com`, 'wrong')
    expectProblem(t, last, 429, 'rate_limited')
  })
})

t.test('a good sign-in forgets the failed ones of its account', async (t) => {
  const api = await apiFor(t, await openStores(t), { signInPoints: { account: 2, address: 30 } })
  const { email } = await signUp(api, 'Alice')
  const passwords = ['wrong', PASSWORD, 'wrong', PASSWORD, 'wrong', PASSWORD]
  const statuses: number[] = []
  for (const password of passwords) {
    statuses.push((await api.call('POST', '/v1/auth/login', { json: { email, password } })).status)
  }
  t.same(statuses, [401, 200, 401, 200, 401, 200])
})
