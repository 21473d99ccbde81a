import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { createCast } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'
import { isSigned, receiverFor } from '../support/webhook-receiver.ts'

interface Channel {
  id: string
  secret?: string
}

const stores = await openStores(t)
const api = await apiFor(t, stores)
const { alice, bob, charlie } = await createCast(api)
const receiver = await receiverFor(t)
const create = async (fields: object = {}, as = alice.jwt) =>
  api.call('POST', '/v1/alerts/channels', { as, json: { kind: 'webhook', name: 'Chat', url: receiver.url, ...fields } })
const test = (id: string, as = alice.jwt) => api.call('POST', `/v1/alerts/channels/${id}/test`, { as })

t.beforeEach(() => {
  receiver.received.length = 0
  receiver.answer = (response) => response.writeHead(204).end()
})

t.test('the secret of a channel is shown once, and is sealed where it is kept', async (t) => {
  const { status, body } = await create()
  const { id, secret = '' } = body as Channel
  t.equal(status, 201)
  t.match(body, {
    kind: 'webhook',
    name: 'Chat',
    url: receiver.url,
    events: ['down', 'agent', 'pending'],
    enabled: true
  })
  t.match(secret, /^whsec_[\w+/]{43}=$/)
  t.notOk('secret' in ((await api.call('GET', `/v1/alerts/channels/${id}`, { as: alice.jwt })).body as object))
  const [row] = await stores.db.query<{ secret_sealed: Buffer }>(
    'select secret_sealed from alert_channels where id = $1',
    [id]
  )
  t.notOk(row?.secret_sealed.includes(secret))
})

t.test('a test message is signed, and told of in the log of deliveries', async (t) => {
  const { id, secret = '' } = (await create()).body as Channel
  receiver.answer = (response) => response.writeHead(200).end('thanks')
  const answer = await test(id)
  t.match(answer, {
    status: 200,
    body: { type: 'channel.test', status: 'delivered', statusCode: 200, response: 'thanks' }
  })
  const [message] = receiver.received
  if (message === undefined) throw new Error('nothing came')
  t.ok(isSigned(message, secret))
  t.equal(message.headers['webhook-id'], (answer.body as Channel).id)
  t.match(message.body, { type: 'channel.test', channel: { id } })
  const log = await api.call('GET', `/v1/alerts/channels/${id}/deliveries`, { as: alice.jwt })
  t.match(log.body, { data: [answer.body], nextCursor: null })
})

t.test('an answer that is not good is told, a redirect is not followed, and a long answer is cut', async (t) => {
  const { id } = (await create()).body as Channel
  receiver.answer = (response) => response.writeHead(302, { location: receiver.url }).end()
  t.match((await test(id)).body, { status: 'failed', statusCode: 302, error: /redirects are not followed/ })
  t.equal(receiver.received.length, 1)
  receiver.answer = (response) => response.writeHead(500).end('x'.repeat(100_000))
  const { response, ...failed } = (await test(id)).body as Record<string, string>
  t.match(failed, { status: 'failed', statusCode: 500, nextAttemptAt: null })
  t.equal(response?.length, 1024)
})

t.test('a new secret signs from then on, and the old one no longer', async (t) => {
  const { id, secret: before = '' } = (await create()).body as Channel
  const answer = await api.call('POST', `/v1/alerts/channels/${id}/rotate`, { as: alice.jwt })
  t.match(answer, { status: 200, body: { id, name: 'Chat', secret: /^whsec_[\w+/]{43}=$/ } })
  t.equal(answer.headers.get('cache-control'), 'no-store')
  await test(id)
  const [message] = receiver.received
  if (message === undefined) throw new Error('nothing came')
  t.ok(isSigned(message, (answer.body as Required<Channel>).secret))
  t.notOk(isSigned(message, before))
  const { body } = await api.call('GET', `/v1/audit?targetId=${id}&action=channel.secret_rotated`, { as: alice.jwt })
  t.match(body, { data: [{ actor: { name: alice.email } }] })
})

t.test('a channel tells since when it fails, until it takes a message again', async (t) => {
  const { id } = (await create()).body as Channel
  const failingSince = async () =>
    ((await api.call('GET', `/v1/alerts/channels/${id}`, { as: alice.jwt })).body as { failingSince: string | null })
      .failingSince
  t.equal(await failingSince(), null)
  await test(id)
  t.equal(await failingSince(), null)
  receiver.answer = (response) => response.writeHead(500).end()
  const { createdAt } = (await test(id)).body as { createdAt: string }
  await test(id)
  t.equal(await failingSince(), createdAt, 'since the first that it did not take')
  const { body } = await api.call('GET', '/v1/alerts/channels', { as: alice.jwt })
  t.match(
    (body as { data: Channel[] }).data.find((channel) => channel.id === id),
    { failingSince: createdAt }
  )
  receiver.answer = (response) => response.writeHead(204).end()
  await test(id)
  t.equal(await failingSince(), null)
})

t.test('a channel is renamed, switched off and deleted', async (t) => {
  const { id } = (await create()).body as Channel
  const path = `/v1/alerts/channels/${id}`
  const changed = await api.call('PATCH', path, { as: alice.jwt, json: { name: 'Pager', enabled: false } })
  t.match(changed, { status: 200, body: { name: 'Pager', enabled: false, url: receiver.url } })
  t.equal((await api.call('DELETE', path, { as: alice.jwt })).status, 204)
  expectProblem(t, await api.call('GET', path, { as: alice.jwt }), 404, 'not_found')
  const { body } = await api.call('GET', `/v1/audit?targetId=${id}`, { as: alice.jwt })
  const actions = (body as { data: Array<{ action: string }> }).data.map(({ action }) => action)
  t.same(actions, ['channel.deleted', 'channel.changed', 'channel.created'])
})

t.test('channels are for admins of their own organization', async (t) => {
  const { id } = (await create()).body as Channel
  expectProblem(t, await create({}, bob.jwt), 403, 'forbidden')
  expectProblem(t, await test(id, charlie.jwt), 404, 'not_found')
  t.equal(receiver.received.length, 0)
})

for (const url of [
  'http://10.0.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://192.168.1.1:8080/',
  'http://[::1]/',
  'http://[::ffff:10.0.0.1]/',
  'http://[64:ff9b::a00:1]/',
  'http://[fd00::1]/',
  'http://[fe80::1]/',
  'http://[2002:a00:1::]/',
  'http://0x0a000001/',
  'http://167772161/',
  'http://0/'
]) {
  t.test(`a webhook to ${url} is refused`, async (t) => {
    const body = expectProblem(t, await create({ url }), 422, 'validation_failed')
    t.same(faultsOf(body), ['/url private_address'])
  })
}

t.test('a name that leads to this machine is refused where the operator does not permit it', async (t) => {
  const strict = await apiFor(t, stores, { webhookAllow: [], addresses: { apiUrl: api.apiUrl, siteUrl: api.apiUrl } })
  for (const url of ['http://localhost/', 'http://127.0.0.1/', receiver.url]) {
    const json = { kind: 'webhook', name: 'Chat', url }
    const body = expectProblem(
      t,
      await strict.call('POST', '/v1/alerts/channels', { as: alice.jwt, json }),
      422,
      'validation_failed'
    )
    t.same(faultsOf(body), ['/url private_address'])
  }
})

t.test('an address is judged again when it is connected to', async (t) => {
  const { id } = (await create()).body as Channel
  const strict = await apiFor(t, stores, { webhookAllow: [], addresses: { apiUrl: api.apiUrl, siteUrl: api.apiUrl } })
  for (const host of ['127.0.0.1', 'localhost']) {
    const url = `http://${host}:${receiver.port}/`
    await stores.db.query('update alert_channels set url = $2 where id = $1', [id, url])
    const { body } = await strict.call('POST', `/v1/alerts/channels/${id}/test`, { as: alice.jwt })
    t.match(body, { status: 'failed', statusCode: null, error: /must not reach/ })
  }
  t.equal(receiver.received.length, 0)
})

for (const url of ['ftp://example.com/', 'example.com', 'http://user:pw@example.com/', 'http://']) {
  t.test(`${url} is no address of a webhook`, async (t) => {
    const body = expectProblem(t, await create({ url }), 422, 'validation_failed')
    t.match(faultsOf(body), [/^\/url /])
  })
}
