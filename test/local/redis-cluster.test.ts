import { test } from 'tap'
import { createResume } from '../../gateway/resume.ts'
import { connectRedis, requireDurability } from '../../shared/redis.ts'
import { captureLog } from '../support/captured-log.ts'
import { clusterFor } from '../support/redis-cluster.ts'

test('on a Redis Cluster positions of all streams are remembered, and every master has to be durable', async (t) => {
  const { url, nodes } = await clusterFor(t)
  const { log, text } = captureLog()
  const { client, stop } = await connectRedis({ url, log, whenAway: 'fail' })
  t.teardown(stop)

  const resume = createResume({ client, prefix: 'test', log })
  const streams = Array.from({ length: 20 }, (_, i) => `stream-${i}`)
  for (const [i, stream] of streams.entries()) resume.note('source', stream, i + 1)
  await resume.stop()
  const recalled = await Promise.all(streams.map((stream) => resume.recall('source', stream)))
  t.same(
    recalled,
    streams.map((_, i) => i + 1)
  )
  t.notMatch(text(), 'not remembered')

  await t.resolves(requireDurability(client, 'require', log))
  for (const node of nodes) {
    await node.call('CONFIG', 'SET', 'appendfsync', 'everysec')
    await t.rejects(requireDurability(client, 'require', log), {
      name: 'StartupError',
      message: `127.0.0.1:${node.options.port}: appendfsync is "everysec"`
    })
    await node.call('CONFIG', 'SET', 'appendfsync', 'always')
  }
})
