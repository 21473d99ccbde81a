import { randomBytes } from 'node:crypto'
import { type Test, t } from 'tap'
import type { SignedIn } from '../../shared/contract/auth.ts'
import type { MonitorAnswer } from '../../shared/contract/monitors.ts'
import { createSecrets } from '../../shared/secrets.ts'
import { apiFor, type TestApi } from '../support/api.ts'
import { createAgent, createMonitor, PASSWORD, signUp } from '../support/cast.ts'
import { openStores, type Stores } from '../support/ingest.ts'
import { doneByOperator } from '../support/operator.ts'
import { runScript } from '../support/run-script.ts'

/** An API that has other keys than those that the stores were filled by. */
function apiWith(t: Test, stores: Stores, secretsKey: string, other?: string): Promise<TestApi> {
  return apiFor(t, { ...stores, secretsKey, secrets: createSecrets(secretsKey, other) })
}

async function signIn(api: TestApi): Promise<SignedIn> {
  const json = { email: 'alice@example.com', password: PASSWORD, remember: true }
  return (await api.call('POST', '/v1/auth/login', { json })).body as SignedIn
}

async function sceneOf(t: Test) {
  const stores = await openStores(t)
  const api = await apiFor(t, stores)
  const { jwt, organizationId } = await signUp(api, 'Alice')
  const { id, pushUrl = '' } = await createMonitor(api, jwt, { name: 'Backup', kind: 'push' })
  const { apiKey } = await createAgent(api, jwt, { name: 'Rack 7', kind: 'service', monitorIds: [id] })
  const { refreshToken } = await signIn(api)
  const push = new URL(pushUrl).pathname
  const known = async (api: TestApi) => [
    (await api.call('GET', push)).status,
    // It may not read, and who asks is known.
    (await api.call('GET', '/api/heartbeats', { as: apiKey })).status
  ]
  const shownPush = async (api: TestApi) => {
    const { body } = await api.call('GET', `/v1/monitors/${id}`, { as: (await signIn(api)).jwt })
    return new URL((body as MonitorAnswer).pushUrl ?? '').pathname
  }
  return { stores, organizationId, id, push, refreshToken, known, shownPush }
}

t.test('SECRETS_KEY is changed without a break, by a time in which both are known', async (t) => {
  const { stores, organizationId, id, push, refreshToken, known, shownPush } = await sceneOf(t)
  const [oldKey, newKey] = [stores.secretsKey, randomBytes(32).toString('base64')]
  t.same(await known(await apiWith(t, stores, newKey)), [404, 401], 'the new one alone knows nobody')
  const behind = await apiWith(t, stores, oldKey, newKey)
  const ahead = await apiWith(t, stores, newKey, oldKey)
  for (const api of [behind, ahead]) {
    t.same(await known(api), [200, 403])
    t.equal(await shownPush(api), push)
  }
  const refreshed = await ahead.call('POST', '/v1/auth/refresh', { json: { refreshToken } })
  t.equal(refreshed.status, 200)
  const atOnce = await behind.call('POST', '/v1/auth/refresh', { json: { refreshToken } })
  t.equal(atOnce.status, 200, 'the same client asks twice, and is answered by two processes')
  const again = { json: { refreshToken: (refreshed.body as SignedIn).refreshToken } }
  t.equal((await behind.call('POST', '/v1/auth/refresh', again)).status, 200)
  const made = await createAgent(ahead, (await signIn(ahead)).jwt, {
    name: 'Rack 8',
    kind: 'service',
    monitorIds: [id]
  })
  t.equal((await behind.call('GET', '/api/heartbeats', { as: made.apiKey })).status, 403)

  const env = {
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl,
    REDIS_PREFIX: stores.prefix,
    SECRETS_KEY: newKey,
    SECRETS_KEY_OTHER: oldKey
  }
  t.match(await runScript('scripts/admin.ts', env, 'secrets-key', 'renew'), { code: 0, out: /^1 push URLs/ })
  t.match(await doneByOperator(stores, organizationId), [{ action: 'secrets_key.changed', details: { pushUrls: 1 } }])
  // As after their rotation.
  await stores.db.query('delete from signing_keys')
  const after = await apiWith(t, stores, newKey)
  t.same(await known(after), [200, 401], 'a push URL needs the old one no longer; an API key of before does')
  t.equal(await shownPush(after), push)
  t.equal((await after.call('GET', '/api/heartbeats', { as: made.apiKey })).status, 403)
})
