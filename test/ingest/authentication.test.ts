import { randomBytes } from 'node:crypto'
import t from 'tap'
import { publishChange } from '../../shared/changes.ts'
import { mintApiKey } from '../../shared/identity/api-key.ts'
import { connectAgent, UpgradeRefused } from '../support/fake-agent.ts'
import { gatewayTenantFor, heartbeatOf } from '../support/gateway-tenant.ts'
import { rawRequest } from '../support/raw-http.ts'
import { createTenant } from '../support/tenant.ts'

type Options = Parameters<typeof connectAgent>[0]

async function refusalOf(
  options: Options
): Promise<{ status: number; code: string; headers: UpgradeRefused['headers'] }> {
  try {
    const socket = await connectAgent(options)
    await socket.close()
  } catch (error) {
    if (!(error instanceof UpgradeRefused)) throw error
    return { status: error.status, code: JSON.parse(error.body).code, headers: error.headers }
  }
  throw new Error('the upgrade was not refused')
}

t.test(
  'an upgrade without a valid key is refused before a socket exists, with the headers of every answer',
  async (t) => {
    const { tenant, monitorId, gateway, agent } = await gatewayTenantFor(t)
    const reader = await tenant.addAgent([monitorId], { kind: 'service', scopes: ['heartbeats:read'] })
    const cases: Array<[name: string, options: Omit<Options, 'url'>, status: number, code: string]> = [
      ['no key', {}, 401, 'unauthorized'],
      ['a key that nobody has', { apiKey: mintApiKey('agent') }, 401, 'unauthorized'],
      ['a key with a typing error', { apiKey: `${agent.apiKey.slice(0, -1)}-` }, 401, 'unauthorized'],
      ['a key without the scope', { apiKey: reader.apiKey }, 403, 'insufficient_scope'],
      [
        'only unknown subprotocols',
        { apiKey: agent.apiKey, subprotocol: ['mqtt', 'heartbeat.v9'] },
        400,
        'unsupported_subprotocol'
      ]
    ]
    for (const [name, options, status, code] of cases) {
      const refusal = await refusalOf({ url: gateway.url, ...options })
      t.match(refusal, { status, code }, name)
      t.match(refusal.headers, {
        'content-type': 'application/problem+json',
        'x-content-type-options': 'nosniff',
        'content-security-policy': "frame-ancestors 'none'"
      })
    }
    const unauthorized = await refusalOf({ url: gateway.url })
    t.match(unauthorized.headers, { 'www-authenticate': /^Bearer/ })
  }
)

t.test('heartbeat.v1 is chosen among several subprotocols, and none offered is taken as it', async (t) => {
  const { gateway, agent } = await gatewayTenantFor(t)
  const chosen = await connectAgent({ url: gateway.url, apiKey: agent.apiKey, subprotocol: ['other', 'heartbeat.v1'] })
  t.equal(chosen.subprotocol, 'heartbeat.v1')
  await chosen.close()
  const none = await connectAgent({ url: gateway.url, apiKey: agent.apiKey, subprotocol: null })
  t.equal(none.subprotocol, '')
  t.ok((await none.hello()).connection)
  await none.close()
})

t.test('what is no WebSocket of version 13 at / is answered as HTTP with a problem', async (t) => {
  const { gateway, agent } = await gatewayTenantFor(t)
  const upgrade = (lines: string) =>
    `GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: Bearer ${agent.apiKey}\r\n${lines}\r\n`
  const key = `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n`
  const cases: Array<[request: string, status: number, code: string]> = [
    ['GET / HTTP/1.1\r\nHost: x\r\n\r\n', 426, 'upgrade_required'],
    ['POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}', 426, 'upgrade_required'],
    ['GET /else HTTP/1.1\r\nHost: x\r\n\r\n', 404, 'not_found'],
    [upgrade(`${key}Sec-WebSocket-Version: 8\r\n`), 426, 'upgrade_required'],
    [upgrade(key), 426, 'upgrade_required'],
    [upgrade('Sec-WebSocket-Key: short\r\nSec-WebSocket-Version: 13\r\n'), 426, 'upgrade_required']
  ]
  for (const [request, status, code] of cases) {
    const answer = await rawRequest({ port: gateway.port }, request)
    t.equal(answer.status, status, request)
    t.match(JSON.parse(answer.body), { code, status })
    t.equal(answer.header('x-content-type-options'), 'nosniff')
    t.equal(answer.header('content-security-policy'), "frame-ancestors 'none'")
  }
})

t.test('a revoked key loses its socket with 4401 within a second and opens no other', async (t) => {
  const { stores, tenant, agent, gateway } = await gatewayTenantFor(t)
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await socket.hello()
  await stores.db.query('update api_keys set revoked_at = now() where id = $1', [agent.keyId])
  const { organizationId } = tenant
  const before = performance.now()
  await publishChange(stores.redis.client, stores.prefix, {
    type: 'keys_revoked',
    organizationId,
    agentId: agent.id,
    keyIds: [agent.keyId]
  })
  t.match(await socket.closed, { code: 4401, reason: 'key_revoked' })
  t.ok(performance.now() - before < 1000)
  t.match(await refusalOf({ url: gateway.url, apiKey: agent.apiKey }), { status: 401 })
})

t.test('a suspended organization loses its sockets with 4403 and opens no others', async (t) => {
  const { stores, tenant, agent, gateway } = await gatewayTenantFor(t)
  const { organizationId } = tenant
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await stores.db.query('update organizations set suspended_at = now() where id = $1', [organizationId])
  await publishChange(stores.redis.client, stores.prefix, { type: 'organization_changed', organizationId })
  t.match(await socket.closed, { code: 4403, reason: 'suspended' })
  t.match(await refusalOf({ url: gateway.url, apiKey: agent.apiKey }), { status: 403, code: 'organization_suspended' })
})

t.test("a key may not report another tenant's monitor, even by its exact id", async (t) => {
  const { stores, agent, gateway } = await gatewayTenantFor(t)
  const stranger = await createTenant(stores.db, stores.secrets)
  const foreign = await stranger.addMonitor()
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await socket.hello()
  socket.send({ type: 'heartbeats', seq: 1, items: [heartbeatOf(foreign)] })
  t.match(await socket.next('reject'), { errors: [{ index: 0, code: 'monitor_not_allowed' }] })
  await socket.close()
})

t.test('an address that is refused sixty times in a minute has to wait', async (t) => {
  // A clock that stands still: no new minute begins meanwhile.
  const now = Date.now()
  const { gateway, agent } = await gatewayTenantFor(t, { clock: () => now })
  for (let i = 0; i < 60; i++) await refusalOf({ url: gateway.url, apiKey: mintApiKey('agent') })
  const refusal = await refusalOf({ url: gateway.url, apiKey: agent.apiKey })
  t.match(refusal, { status: 429, code: 'rate_limited' })
  t.ok(Number(refusal.headers['retry-after']) > 0)
})

t.test('a key that loses the right to report loses its socket', async (t) => {
  const { stores, tenant, agent, gateway } = await gatewayTenantFor(t)
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await socket.hello()
  await stores.db.query("update agents set scopes = '{monitors:read}' where id = $1", [agent.id])
  const { organizationId } = tenant
  const change = { type: 'agent_changed', organizationId, agentId: agent.id } as const
  await publishChange(stores.redis.client, stores.prefix, change)
  t.match(await socket.closed, { code: 4403 })
})

t.test('a revocation that nobody was told of is found by itself', async (t) => {
  let skewMs = 0
  const { stores, monitorId, agent, gateway } = await gatewayTenantFor(t, {
    monotonic: () => performance.now() + skewMs
  })
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await socket.hello()
  await stores.db.query('update api_keys set revoked_at = now() where id = $1', [agent.keyId])
  stores.callers.stop()
  // Five minutes go by, in steps that are no silence.
  for (let seq = 1; seq <= 6; seq++) {
    socket.send({ type: 'heartbeats', seq, items: [heartbeatOf(monitorId)] })
    await socket.next('ack')
    skewMs += 51_000
  }
  t.match(await socket.closed, { code: 4401 })
})
