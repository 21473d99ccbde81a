import { t } from 'tap'
import { openQueue } from '../../shared/queue.ts'
import { connectRedis } from '../../shared/redis.ts'
import { apiFor } from '../support/api.ts'
import { createCast } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem } from '../support/problems.ts'
import { waitFor } from '../support/wait-for.ts'

t.test('nothing is accepted that Redis does not have', async (t) => {
  const stores = await openStores(t)
  const { redisUrl: url, prefix, log } = stores
  // Connections of its own, which end for good in the middle of the test.
  const redis = await connectRedis({ url, log, whenAway: 'fail' })
  const queue = openQueue({ redis, prefix, shards: 1 })
  const api = await apiFor(t, { ...stores, redis, queue })
  const { agent, monitor, pushMonitor } = await createCast(api)
  const json = { monitorId: monitor.id, status: 'up', latency: 1, timestamp: new Date().toISOString() }
  // Cached, so that the API knows who asks although it hears of no change any more.
  t.equal((await api.call('GET', pushMonitor.pushPath)).status, 200)
  t.equal((await api.call('POST', '/api/heartbeats', { as: agent.apiKey, json })).status, 202)
  await redis.stop()
  await waitFor(() => redis.client.status === 'end')

  const answer = await api.call('POST', '/api/heartbeats', { as: agent.apiKey, json })
  expectProblem(t, answer, 503, 'overloaded')
  t.match(answer.headers.get('retry-after'), /^\d+$/)
  for (const path of [pushMonitor.pushPath, `/api${pushMonitor.pushPath}`]) {
    const push = await api.call('GET', path)
    t.equal(push.status, 503)
    t.match(push.body, { ok: false, msg: String })
    t.match(push.headers.get('retry-after'), /^\d+$/)
  }
  const ready = await api.call('GET', '/readyz')
  t.match(ready, { status: 503, body: { status: 'not_ready', missing: ['redis', 'gateway', 'worker'] } })
})
