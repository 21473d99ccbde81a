import { t } from 'tap'
import { ROUTES } from '../../shared/contract/routes.ts'
import { apiFor } from '../support/api.ts'
import { gatewayFor, openStores, workerFor } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'
import { waitFor } from '../support/wait-for.ts'

interface OpenApi {
  openapi: string
  servers: Array<{ url: string }>
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>
  components: { schemas: Record<string, unknown> }
}

const stores = await openStores(t)
const api = await apiFor(t, stores)
const read = async <T>(path: string) => (await api.call('GET', path)).body as T

/** Every `$ref` of a document. */
function refsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const own = (value as { $ref?: unknown }).$ref
  return [...(typeof own === 'string' ? [own] : []), ...Object.values(value).flatMap(refsOf)]
}

function resolves(document: unknown, ref: string): boolean {
  let place: unknown = document
  for (const part of ref.slice(2).split('/')) {
    place = (place as Record<string, unknown> | undefined)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return place !== undefined
}

for (const path of ['/openapi.json', '/asyncapi.json']) {
  t.test(`every reference of ${path} leads somewhere`, async (t) => {
    const document = await read(path)
    const refs = refsOf(document)
    t.ok(refs.length > 10)
    t.same(
      refs.filter((ref) => !resolves(document, ref)),
      []
    )
  })
}

t.test('the OpenAPI document holds every route once', async (t) => {
  const { openapi, servers, paths } = await read<OpenApi>('/openapi.json')
  t.equal(openapi, '3.1.0')
  t.same(servers, [{ url: api.apiUrl }])
  t.same(Object.keys(paths).sort(), [...new Set(Object.values(ROUTES).map(({ path }) => path))].sort())
  const ids = Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId))
  t.equal(new Set(ids).size, ids.length)
})

t.test('the AsyncAPI document names every frame and close code', async (t) => {
  const document = await read<Record<string, never>>('/asyncapi.json')
  t.match(document, { asyncapi: '3.0.0', operations: { hello: { action: 'receive' }, ack: { action: 'send' } } })
  t.match(JSON.stringify(document), /"code":4401/)
})

for (const [name, { method, path, auth }] of Object.entries(ROUTES)) {
  t.test(`${name} answers with a status that the document knows`, async (t) => {
    const { paths } = await read<OpenApi>('/openapi.json')
    const verb = method === 'ANY' ? 'GET' : method
    const { status } = await api.call(verb, path.replace(/\{\w+\}/g, 'none'), verb === 'GET' ? {} : { json: {} })
    if (auth !== 'none') t.equal(status, 401)
    t.ok(String(status) in (paths[path]?.[verb.toLowerCase()]?.responses ?? {}), `${verb} ${path}: ${status}`)
  })
}

t.test('the list of routes loads nothing and runs nothing', async (t) => {
  const { headers, body } = await api.call('GET', '/docs')
  t.equal(headers.get('content-type'), 'text/html; charset=utf-8')
  t.match(headers.get('content-security-policy'), /default-src 'none'/)
  t.match(body, /^<!doctype html>/)
  t.notMatch(body, /<script|src=/)
})

t.test('the pages of the dashboard run no script but our files, and may not be framed', async (t) => {
  for (const path of ['/', '/login', '/settings?section=team', '/monitors/0']) {
    const { status, headers, body } = await api.call('GET', path)
    t.equal(status, 200, path)
    t.equal(headers.get('content-type'), 'text/html; charset=utf-8')
    t.match(headers.get('content-security-policy'), /script-src 'self';.*frame-ancestors 'none'/)
    t.notMatch(body, /<script(?![^>]* src="\/assets\/)/)
  }
  t.match((await api.call('GET', '/')).headers.get('link'), /rel="service-desc"/)
  expectProblem(t, await api.call('POST', '/login', { json: {} }), 405, 'method_not_allowed')
})

t.test("the dashboard's files are kept for good, and none beside them is given out", async (t) => {
  const [file = ''] = /\/assets\/[^"]+\.js/.exec(String((await api.call('GET', '/')).body)) ?? []
  t.match((await api.call('GET', file)).headers.get('cache-control'), /immutable/)
  for (const path of ['/assets/../index.html', '/assets/%2e%2e/index.html', '/assets/none.js', '/assets/']) {
    expectProblem(t, await api.call('GET', path), 404, 'not_found')
  }
})

t.test('ready means API, PostgreSQL, Redis, a gateway and a worker', async (t) => {
  t.match(await api.call('GET', '/readyz'), { status: 503, body: { missing: ['gateway', 'worker'] } })
  const gateway = await gatewayFor(t, stores)
  await workerFor(t, stores)
  await waitFor(async () => (await api.call('GET', '/readyz')).status === 200)
  t.same(await read('/readyz'), { status: 'ready', missing: [] })
  await gateway.stop()
  await waitFor(async () => (await api.call('GET', '/readyz')).status === 503)
  t.same(await read('/readyz'), { status: 'not_ready', missing: ['gateway'] })
})

t.test('the authority of a certificate of our own is at /ca.pem, and nothing is there without one', async (t) => {
  const secure = await apiFor(t, stores, { tls: true })
  const { links } = (await secure.call('GET', '/api')).body as { links: Record<string, string> }
  t.equal(links.ca, `${secure.apiUrl}/ca.pem`)
  const answer = await secure.call('GET', '/ca.pem')
  t.equal(answer.headers.get('content-type'), 'application/pem-certificate-chain')
  t.equal(answer.body, String(secure.ca))
  t.notMatch(answer.body, 'PRIVATE KEY')
  expectProblem(t, await api.call('GET', '/ca.pem'), 404, 'not_found')
  t.notOk('ca' in (await read<{ links: object }>('/api')).links)
})
