import t from 'tap'
import { announce, countReady } from '../../shared/instances.ts'
import { gatewayFor, openStores } from '../support/ingest.ts'
import { waitFor } from '../support/wait-for.ts'

t.test('a running process is counted from its first renewal until it stops', async (t) => {
  const { redis, prefix } = await openStores(t)
  const options = { client: redis.client, prefix, kind: 'worker', clock: Date.now } as const
  const first = announce({ ...options, id: 'a' })
  const second = announce({ ...options, id: 'b' })
  await waitFor(async () => (await countReady(redis.client, prefix, 'worker')) === 2)
  t.equal(await countReady(redis.client, prefix, 'gateway'), 0)
  await first.stop()
  t.equal(await countReady(redis.client, prefix, 'worker'), 1)
  await second.stop()
})

t.test('a process that takes heartbeats in stamps the receive time of its oldest one not yet queued', async (t) => {
  const { redis, prefix } = await openStores(t)
  let oldest: number | null = 1234
  const instance = announce({
    client: redis.client,
    prefix,
    kind: 'api',
    id: 'a',
    oldestUnqueued: () => oldest,
    clock: () => 9999
  })
  const stamp = () => redis.client.get(`${prefix}:ingest:a`)
  await waitFor(async () => (await stamp()) === '1234')
  oldest = null
  await waitFor(async () => (await stamp()) === '9999')
  t.ok((await redis.client.ttl(`${prefix}:ingest:a`)) <= 5)
  await instance.stop()
  t.equal(await stamp(), null)
})

t.test('a gateway renews its stamp by itself', async (t) => {
  const stores = await openStores(t)
  await gatewayFor(t, stores)
  const ids = await waitFor(async () => {
    const members = await stores.redis.client.smembers(`${stores.prefix}:ingest`)
    return members.length > 0 && members
  })
  const stamp = await waitFor(() => stores.redis.client.get(`${stores.prefix}:ingest:${ids[0]}`))
  t.ok(Math.abs(Number(stamp) - Date.now()) < 5000)
})
