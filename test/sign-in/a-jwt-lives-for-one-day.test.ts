import {
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  jwtVerify,
  SignJWT
} from 'jose'
import { t } from 'tap'
import { connectDb } from '../../shared/db.ts'
import { apiFor } from '../support/api.ts'
import { PASSWORD, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'

interface KeySet {
  keys: Array<Record<string, string>>
}

const stores = await openStores(t)
let ahead = 0
const api = await apiFor(t, stores, { clock: () => Date.now() + ahead })
const alice = await signUp(api, 'Alice')
const me = (jwt: string) => api.call('GET', '/v1/me', { as: jwt })
const { body, headers } = await api.call('GET', '/.well-known/jwks.json')
const jwks = body as KeySet

t.test('a JWT verifies by the published keys and carries the claims of RFC 9068', async (t) => {
  t.equal(headers.get('content-type'), 'application/jwk-set+json')
  const verified = await jwtVerify(alice.jwt, createLocalJWKSet(jwks as never), {
    issuer: api.apiUrl,
    audience: api.apiUrl,
    typ: 'at+jwt',
    algorithms: ['ES256']
  })
  const { payload } = verified
  t.match(payload, { sub: alice.id, org: alice.organizationId, client_id: 'first-party', jti: String })
  t.equal(Number(payload.exp) - Number(payload.iat), 86_400)
  t.equal(payload.auth_time, payload.iat)
  t.notMatch(JSON.stringify(payload), /example\.com"|owner/, 'neither e-mail nor role')
})

t.test('the private key is neither published nor in clear in the database', async (t) => {
  t.equal(jwks.keys.length, 1)
  t.notOk(jwks.keys.some((key) => 'd' in key))
  const query = "select encode(private_sealed, 'escape') as sealed from signing_keys"
  // Only the API's role may read the keys at all.
  const db = connectDb({ url: stores.databaseUrl, role: 'pulsegate_api', log: stores.log })
  t.teardown(db.stop)
  const [row] = await db.query<{ sealed: string }>(query)
  t.ok(row)
  t.notMatch(row?.sealed, /"d"/)
})

t.test('a JWT ends after exactly 24 hours', async (t) => {
  const exp = Number(decodeJwt(alice.jwt).exp) * 1000
  ahead = exp - Date.now() - 1000
  t.equal((await me(alice.jwt)).status, 200)
  ahead = exp - Date.now()
  expectProblem(t, await me(alice.jwt), 401, 'unauthorized')
  ahead = 0
})

t.test('a JWT is void when anything about it is not ours', async (t) => {
  const { kid } = decodeProtectedHeader(alice.jwt)
  const claims = decodeJwt(alice.jwt)
  const [head = '', payload = '', signature = ''] = alice.jwt.split('.')
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const stranger = await generateKeyPair('ES256')
  const jwk = await exportJWK(stranger.publicKey)
  const forge = (header: object) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', ...header }).sign(stranger.privateKey)
  const hs256 = new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: String(kid) })
  const flipped = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
  const forgeries: Record<string, string> = {
    'alg none': `${encode({ alg: 'none', typ: 'at+jwt', kid })}.${payload}.`,
    'another key': await forge({ kid }),
    'an unknown kid': await forge({ kid: 'nobody' }),
    'no kid': await forge({}),
    'its own jwk': await forge({ jwk, kid: 'x' }),
    'HS256 by the public key': await hs256.sign(Buffer.from(JSON.stringify(jwks.keys[0]))),
    'another payload': `${head}.${encode({ ...claims, sub: 'somebody' })}.${signature}`,
    'a flipped bit': `${head}.${payload}.${flipped}`,
    'no JSON': 'a.b.c'
  }
  for (const [name, jwt] of Object.entries(forgeries)) {
    const answer = await me(jwt)
    t.equal(answer.status, 401, name)
    t.equal(answer.headers.get('www-authenticate'), 'Bearer realm="pulsegate", error="invalid_token"')
  }
})

t.test('a JWT ends at once for somebody who left the organization', async (t) => {
  const dora = await signUp(api, 'Dora')
  t.equal((await me(dora.jwt)).status, 200)
  await stores.db.query('delete from memberships where user_id = $1', [dora.id])
  expectProblem(t, await me(dora.jwt), 401, 'unauthorized')
  expectProblem(
    t,
    await api.call('POST', '/v1/auth/login', { json: { email: dora.email, password: PASSWORD } }),
    401,
    'invalid_credentials'
  )
})

t.test('processes that start together sign by one key', async (t) => {
  const stores = await openStores(t)
  const apis = await Promise.all([apiFor(t, stores), apiFor(t, stores), apiFor(t, stores)])
  const sets = await Promise.all(apis.map((api) => api.call('GET', '/.well-known/jwks.json')))
  const kids = new Set(sets.map(({ body }) => (body as KeySet).keys.map((key) => key.kid).join()))
  t.equal(kids.size, 1)
})
