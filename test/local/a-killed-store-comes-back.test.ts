import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'tap'
import { startPostgres } from '../../local/postgres.ts'
import { startRedis } from '../../local/redis.ts'
import { createLog } from '../../shared/log.ts'
import { connectRedis, requireDurability } from '../../shared/redis.ts'
import { dataDirFor } from '../support/data-dir.ts'
import { withAdmin } from '../support/database.ts'

const log = { info: () => undefined, warn: () => undefined }
const quiet = createLog('test', 'fatal')

test('a killed Redis comes back at its address with everything that it confirmed', async (t) => {
  const dataDir = await dataDirFor(t)
  const before = await startRedis({ dataDir, log })
  const client = await connectRedis({ url: before.url, log: quiet, whenAway: 'fail' })
  await requireDurability(client.client, 'require', quiet)
  await client.client.set('confirmed', 'yes')
  process.kill(before.pid, 'SIGKILL')
  t.match(await before.exited, { signal: 'SIGKILL', asked: false })
  await client.stop()

  const after = await startRedis({ dataDir, log })
  t.teardown(() => after.stop())
  t.equal(after.url, before.url)
  const again = await connectRedis({ url: after.url, log: quiet, whenAway: 'fail' })
  t.teardown(() => again.stop())
  t.equal(await again.client.get('confirmed'), 'yes')
})

test('a killed PostgreSQL comes back at its address with everything that it committed', async (t) => {
  const dataDir = await dataDirFor(t)
  const before = await startPostgres({ dataDir, log })
  await withAdmin(before.url, (admin) => admin.query('create table kept as select 1 as one'))
  process.kill(before.pid, 'SIGKILL')
  t.match(await before.exited, { signal: 'SIGKILL', asked: false })

  const after = await startPostgres({ dataDir, log })
  t.teardown(() => after.stop())
  t.equal(after.url, before.url)
  t.same((await withAdmin(after.url, (admin) => admin.query('select one from kept'))).rows, [{ one: 1 }])
})

test('PostgreSQL starts although its pid file names a process that is now another program', async (t) => {
  const dataDir = await dataDirFor(t)
  const first = await startPostgres({ dataDir, log, fast: true })
  await first.stop()
  await writeFile(join(dataDir, 'postgres/data/postmaster.pid'), `${process.pid}\n${dataDir}\n1\n${first.port}\n\n\n`)
  const second = await startPostgres({ dataDir, log, fast: true })
  t.teardown(() => second.stop())
  t.equal(second.url, first.url)
})

test('a store that an earlier start left behind is ended first', async (t) => {
  const dataDir = await dataDirFor(t)
  const left = {
    redis: await startRedis({ dataDir, log }),
    postgres: await startPostgres({ dataDir, log, fast: true })
  }
  const redis = await startRedis({ dataDir, log })
  t.teardown(() => redis.stop())
  const postgres = await startPostgres({ dataDir, log, fast: true })
  t.teardown(() => postgres.stop())
  t.match(await left.redis.exited, { code: 0 })
  t.match(await left.postgres.exited, { code: 0 })
  t.equal(postgres.port, left.postgres.port)
  t.equal(redis.port, left.redis.port)
})

test('neither store answers without its password', async (t) => {
  const dataDir = await dataDirFor(t)
  const postgres = await startPostgres({ dataDir, log, fast: true })
  t.teardown(() => postgres.stop())
  const wrong = new URL(postgres.url)
  wrong.password = 'wrong'
  const refused = withAdmin(wrong.href, (admin) => admin.query('select 1'))
  await t.rejects(refused, { code: '28P01' })
  const redis = await startRedis({ dataDir, log })
  t.teardown(() => redis.stop())
  const socket = connect(redis.port, '127.0.0.1', () => socket.write('PING\r\n'))
  const [answer] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  t.match(String(answer), /^-NOAUTH/)
})
