import { test } from 'tap'
import { startRedis } from '../../local/redis.ts'
import { createLog } from '../../shared/log.ts'
import { connectRedis, requireDurability } from '../../shared/redis.ts'
import { dataDirFor } from '../support/data-dir.ts'

const WEAKENED: Array<[setting: string, value: string, usual: string]> = [
  ['appendfsync', 'everysec', 'always'],
  ['maxmemory-policy', 'allkeys-lru', 'noeviction'],
  ['appendonly', 'no', 'yes']
]

test('a Redis that could lose what it confirmed is refused, and the setting is named', async (t) => {
  const redis = await startRedis({
    dataDir: await dataDirFor(t),
    log: { info: () => undefined, warn: () => undefined }
  })
  t.teardown(() => redis.stop())
  const log = createLog('test', 'fatal')
  const connection = await connectRedis({ url: redis.url, log, whenAway: 'fail' })
  t.teardown(() => connection.stop())
  const set = (setting: string, value: string) => connection.client.call('CONFIG', 'SET', setting, value)
  for (const [setting, value, usual] of WEAKENED) {
    await set(setting, value)
    await t.rejects(requireDurability(connection.client, 'require', log), {
      name: 'StartupError',
      message: new RegExp(`REDIS_URL: .*${setting} is "${value}" but must be "${usual}"`)
    })
    await t.resolves(requireDurability(connection.client, 'accept', log), 'REDIS_DURABILITY=accept goes on')
    await set(setting, usual)
  }
  await t.resolves(requireDurability(connection.client, 'require', log))
})
