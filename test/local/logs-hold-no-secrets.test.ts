import { test } from 'tap'
import { startRedis } from '../../local/redis.ts'
import { openQueue } from '../../shared/queue.ts'
import { connectRedis } from '../../shared/redis.ts'
import { captureLog } from '../support/captured-log.ts'
import { dataDirFor } from '../support/data-dir.ts'

const quiet = { info: () => undefined, warn: () => undefined }

test('a wrong password of Redis is said and not shown', async (t) => {
  const redis = await startRedis({ dataDir: await dataDirFor(t), log: quiet })
  t.teardown(() => redis.stop())
  const { log, text } = captureLog()
  const url = redis.url.replace(/:[^:@]*@/, ':swordfish@')
  await t.rejects(connectRedis({ url, log, whenAway: 'fail' }), { name: 'StartupError' })
  t.match(text(), /WRONGPASS/)
  t.notMatch(text(), /swordfish/)
})

test('a Redis that is full is said without the script and the heartbeats of the job', async (t) => {
  const redis = await startRedis({ dataDir: await dataDirFor(t), log: quiet })
  t.teardown(() => redis.stop())
  const { log, text } = captureLog()
  const connection = await connectRedis({ url: redis.url, log, whenAway: 'fail' })
  t.teardown(() => connection.stop())
  const queue = openQueue({ redis: connection, prefix: 'test', shards: 1 })
  t.teardown(() => queue.stop())
  await queue.add(0, { message: 'swordfish' })
  await connection.client.call('CONFIG', 'SET', 'maxmemory', '1')
  await queue.add(0, { message: 'swordfish' }).then(
    () => t.fail('a full Redis took a job'),
    (err: unknown) => log.warn({ err }, 'not queued')
  )
  t.match(text(), /"type":"ReplyError","message":"OOM /)
  t.notMatch(text(), /swordfish|redis\.call|"command"/)
})

test('an error is logged with its code, its stack and its causes, and nothing else that hangs on it', (t) => {
  const { log, text } = captureLog()
  const extra = { detail: 'swordfish', command: { args: ['swordfish'] } }
  const inner = Object.assign(new TypeError('inner'), { code: 'E_INNER', ...extra })
  const outer = Object.assign(new Error('outer', { cause: inner }), { code: 7, ...extra })
  const both = Object.assign(new AggregateError([outer]), extra)
  log.error({ err: both }, 'failed')
  log.error(outer)
  log.error({ err: extra }, 'not an error')
  const circle = new Error('circle')
  circle.cause = circle
  log.error({ err: circle }, 'round')
  const [first, second] = text()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { err: object })
  const logged = { type: 'Error', message: 'outer', code: 7, cause: { type: 'TypeError', code: 'E_INNER' } }
  t.match(first?.err, { type: 'AggregateError', errors: [logged] })
  t.match(second?.err, { ...logged, stack: /Error: outer\n +at / })
  t.notMatch(text(), /swordfish/)
  t.end()
})
