import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { createCast } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'

const stores = await openStores(t)
const api = await apiFor(t, stores)
const { alice, bob } = await createCast(api)

t.test('an unknown address is a problem', async (t) => {
  for (const path of ['/nowhere', '/v1', '/api/v1/nowhere', '/v1/auth', '/.well-known/nothing', '/%zz', '/%ff']) {
    expectProblem(t, await api.call('GET', path), 404, 'not_found')
  }
})

t.test('a wrong method is told the right ones', async (t) => {
  const cases: Array<[method: string, path: string, allow: string]> = [
    ['GET', '/v1/auth/login', 'POST, OPTIONS'],
    ['DELETE', '/v1/monitors', 'GET, POST, HEAD, OPTIONS'],
    ['PUT', '/api/v1/monitors/x', 'GET, PATCH, DELETE, HEAD, OPTIONS'],
    ['DELETE', '/api/heartbeats', 'POST, GET, HEAD, OPTIONS']
  ]
  for (const [method, path, allow] of cases) {
    const answer = await api.call(method, path)
    expectProblem(t, answer, 405, 'method_not_allowed')
    t.equal(answer.headers.get('allow'), allow)
    const options = await api.call('OPTIONS', path)
    t.match({ status: options.status, allow: options.headers.get('allow') }, { status: 204, allow })
  }
})

t.test('HEAD answers like GET, without the body', async (t) => {
  const { status, body, headers } = await api.call('HEAD', '/api/status')
  t.match({ status, body }, { status: 200, body: '' })
  t.ok(Number(headers.get('content-length')) > 0)
  t.equal((await api.call('HEAD', '/v1/monitors')).status, 401)
})

t.test('bodies of other routes have 64 KiB', async (t) => {
  const json = { email: 'a@example.com', password: 'x'.repeat(65_536) }
  expectProblem(t, await api.call('POST', '/v1/auth/login', { json }), 413, 'payload_too_large')
})

t.test('a body that is no object is refused', async (t) => {
  for (const json of [null, [], 'x', 7]) {
    expectProblem(t, await api.call('POST', '/v1/auth/login', { json }), 422, 'validation_failed')
  }
})

t.test('a compressed body is refused', async (t) => {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  const answer = await api.call('POST', '/v1/auth/login', { body: '{}', headers })
  expectProblem(t, answer, 415, 'unsupported_media_type')
})

t.test('who may not is told so before the body is looked at', async (t) => {
  expectProblem(t, await api.call('POST', '/v1/agents', { as: bob.jwt, json: { nonsense: true } }), 403, 'forbidden')
  expectProblem(t, await api.call('POST', '/v1/agents', { json: { nonsense: true } }), 401, 'unauthorized')
})

t.test('an answer for somebody is not stored by caches, and every answer has an id', async (t) => {
  const { headers } = await api.call('GET', '/v1/me', { as: alice.jwt })
  t.equal(headers.get('cache-control'), 'no-store')
  t.match(headers.get('request-id'), /^[0-9a-f-]{36}$/)
})

t.test('when PostgreSQL is away the answer says to come again', async (t) => {
  const nowhere = 'postgres://somebody:secret@127.0.0.1:9/gone'
  const later = await apiFor(t, { ...stores, databaseUrl: nowhere })
  const answer = await later.call('POST', '/v1/auth/login', { json: { email: 'a@example.com', password: 'x' } })
  expectProblem(t, answer, 503, 'not_ready')
  t.match(answer.headers.get('retry-after'), /^\d+$/)
  t.notMatch(JSON.stringify(answer.body), /gone|127|ECONN|stack/)
})
