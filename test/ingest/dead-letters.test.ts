import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import type { IngestJob } from '../../shared/ingest/job.ts'
import { openDeadLetters } from '../../shared/queue.ts'
import { dataDirFor } from '../support/data-dir.ts'
import { historyOf } from '../support/gateway-tenant.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { drained, jobOf, keyOf } from '../support/jobs.ts'
import { createTenant } from '../support/tenant.ts'

const DAY_MS = 86_400_000

async function sceneOf(t: Test, { shards = 1 } = {}) {
  const stores = await openStores(t, { shards })
  const tenant = await createTenant(stores.db, stores.secrets)
  const monitorId = await tenant.addMonitor()
  const key = await keyOf(stores, monitorId)
  const sourceId = randomUUID()
  const letters = openDeadLetters({ redis: stores.redis, prefix: stores.prefix, shards })
  t.teardown(() => letters.stop())
  const now = Date.now()
  const goodJob = (secondsAgo: number, message?: string): IngestJob =>
    jobOf([{ key, sourceId, timestamp: now - secondsAgo * 1000, ...(message === undefined ? {} : { message }) }])
  const messages = async () => (await historyOf(stores, monitorId)).map(({ message }) => message)
  return { stores, monitorId, key, sourceId, letters, now, goodJob, messages }
}

type Scene = Awaited<ReturnType<typeof sceneOf>>

/** A good job with something broken in it, and what its reason must say. */
const POISON: Array<[what: string, spoil: (job: IngestJob, now: number) => object, reason: RegExp]> = [
  ['another version', (job) => ({ ...job, v: 2 }), /not a job of a known version/],
  ['no job at all', () => ({ hello: 'world' }), /not a job of a known version/],
  ['columns of different lengths', (job) => ({ ...job, t: [] }), /not a job of a known version/],
  ['a timestamp that is no whole number', (job) => ({ ...job, t: [0.5] }), /^row 0: .*no whole number/],
  ['a monitor that is no number', (job) => ({ ...job, m: ['1'] }), /^row 0: .*no whole number/],
  ['no receive time', (job) => ({ ...job, r: [null] }), /^row 0: .*no whole number/],
  ['an unknown status', (job) => ({ ...job, s: [9] }), /^row 0: unknown status/],
  ['an unknown source', (job) => ({ ...job, x: [1] }), /^row 0: unknown source/],
  ['a source that is no id', (job) => ({ ...job, sources: [['someone', 'http']] }), /a source is no id/],
  ['a latency that is no number', (job) => ({ ...job, l: ['1'] }), /^row 0: latency is no number/],
  ['a message that is no text', (job) => ({ ...job, texts: [[0, { text: 1 }]] }), /a message is no text/],
  ['a message with U+0000', (job) => ({ ...job, texts: [[0, 'a\u0000b']] }), /invalid byte sequence/],
  ['a day long past', (job, now) => ({ ...job, base: now - 500 * DAY_MS }), /-500 days from today, out of reach/],
  ['a day far ahead', (job, now) => ({ ...job, base: now + 4 * DAY_MS }), /4 days from today, out of reach/],
  ['a day no calendar has', (job) => ({ ...job, t: [Number.MAX_SAFE_INTEGER] }), /out of reach/],
  ['a time too large to write', (job) => ({ ...job, base: 9e15, t: [9e15] }), /out of range/]
]

test('a job that can never be written goes to the dead letters with its reason, its neighbours are stored', async (t) => {
  const { stores, letters, now, goodJob, messages } = await sceneOf(t)
  const poison = POISON.map(([, spoil], i) => spoil(goodJob(500 + i), now))
  for (const [i, job] of poison.entries()) {
    await stores.queue.add(0, goodJob(100 - i, `good ${i}`))
    await stores.queue.add(0, job)
  }
  await workerFor(t, stores)
  t.equal(await drained(stores), POISON.length)
  t.same(
    await messages(),
    POISON.map((_, i) => `good ${i}`)
  )
  const dead = (await letters.list(100)).sort((a, b) => Number(a.id.slice(2)) - Number(b.id.slice(2)))
  t.equal(dead.length, POISON.length)
  for (const [i, [what, , reason]] of POISON.entries()) {
    t.match(dead[i], { reason, tries: 1 }, what)
    t.same(dead[i]?.data, poison[i], 'with all that it held')
    t.ok(Math.abs((dead[i]?.failedAt ?? 0) - Date.now()) < 60_000)
  }
})

/** A job that fails while `transitions` has a column that nobody fills, so that the cause can be mended. */
async function deadJob(
  { stores }: Scene,
  ...jobs: Array<[shard: number, job: IngestJob]>
): Promise<() => Promise<void>> {
  await stores.db.query('set role postgres; alter table transitions add mislaid text not null; reset role')
  for (const [shard, job] of jobs) await stores.queue.add(shard, job)
  return async () => {
    await stores.db.query('set role postgres; alter table transitions drop mislaid; reset role')
  }
}

test('a dead letter is written when it is retried after its cause is mended, and no sooner', async (t) => {
  const scene = await sceneOf(t)
  const { stores, letters, goodJob, messages } = scene
  const mend = await deadJob(scene, [0, goodJob(1, 'late but here')])
  await workerFor(t, stores)
  t.equal(await drained(stores), 1)
  const [dead] = await letters.list(10)
  t.match(dead, { id: '0-1', reason: /relation "transitions" violates not-null/, tries: 1 })
  t.equal(await letters.retry('0-1'), true)
  t.equal(await drained(stores), 1, 'it came back')
  t.match(await letters.find('0-1'), { tries: 1 }, 'with its tries counted anew')
  await mend()
  t.same(await messages(), [])
  t.equal(await letters.retry('0-1'), true)
  t.equal(await drained(stores), 0)
  t.same(await messages(), ['late but here'])
  t.equal(await letters.find('0-1'), null)
})

test('all dead letters of all shards are retried at once, each once', async (t) => {
  const scene = await sceneOf(t, { shards: 2 })
  const { stores, letters, goodJob, messages } = scene
  const jobs = Array.from({ length: 120 }, (_, i): [number, IngestJob] => [i % 2, goodJob(1000 - i, `${i}`)])
  const mend = await deadJob(scene, ...jobs)
  await stores.queue.add(1, { v: 0 })
  await workerFor(t, stores)
  t.equal(await drained(stores), 121)
  t.equal(await letters.count(), 121)
  await mend()
  t.equal(await letters.retryAll(), 121)
  t.equal(await drained(stores), 1, 'the poison is back')
  t.match(await letters.list(10), { length: 1, 0: { id: '1-61', reason: /known version/ } })
  t.same(
    await messages(),
    jobs.map((_, i) => `${i}`)
  )
})

test('only what is dead can be found or retried', async (t) => {
  const { stores, letters, goodJob } = await sceneOf(t)
  await stores.queue.add(0, goodJob(1))
  for (const id of ['0-1', '0-2', '1-1', '99-1', '1', '', '-', '0-x', '../0-1', '0-1 ']) {
    t.equal(await letters.find(id), null, id)
    t.equal(await letters.retry(id), false, id)
  }
  t.equal(await letters.retryAll(), 0)
  t.match(await stores.queue.counts(), { waiting: 1, failed: 0 })
})

interface Ran {
  code: number
  out: string
  err: string
}

async function command(env: Record<string, string>, ...args: string[]): Promise<Ran> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'scripts/dead-letters.ts', ...args], { env })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (err += text))
  const [code] = await once(child, 'close')
  return { code, out, err }
}

test('an operator lists, reads and retries dead letters by command', async (t) => {
  const scene = await sceneOf(t)
  const { stores, goodJob, messages } = scene
  const env = { REDIS_URL: stores.redisUrl, REDIS_PREFIX: stores.prefix }
  const mend = await deadJob(scene, [0, goodJob(3, 'one')], [0, goodJob(2, 'two')], [0, goodJob(1, 'three')])
  await workerFor(t, stores)
  t.equal(await drained(stores), 3)
  const listed = await command(env, 'list')
  t.match(listed, { code: 0, err: '' })
  t.match(listed.out, /^0-3 {2}20\S+Z {2}1 heartbeats: null value in .*\n0-2 .*\n0-1 .*\n3 dead/)
  const shown = await command(env, 'show', '0-2')
  t.equal(shown.code, 0)
  t.match(JSON.parse(shown.out), { id: '0-2', reason: /transitions/, tries: 1, data: { texts: [[0, 'two']] } })
  await mend()
  t.same(await command(env, 'retry', '0-2'), { code: 0, out: '0-2 is back in the queue.\n', err: '' })
  t.equal(await drained(stores), 2)
  t.same(await messages(), ['two'])
  t.same(await command(env, 'retry', 'all'), { code: 0, out: '2 jobs are back in the queue.\n', err: '' })
  t.equal(await drained(stores), 0)
  t.same(await messages(), ['one', 'two', 'three'])
  t.same(await command(env, 'list'), { code: 0, out: 'There are no dead letters.\n', err: '' })
})

test('the command says how it is used, and which variable is wrong', async (t) => {
  const DATA_DIR = await dataDirFor(t)
  const { prefix, redisUrl } = (await sceneOf(t)).stores
  const usage = { code: 64, out: '', err: /^Jobs .*Usage: npm run dead-letters -- <command>/s }
  for (const args of [['dance'], ['retry', '0-1', '0-2']]) t.match(await command({}, ...args), usage, args.join(' '))
  t.match(await command({ DATA_DIR }, 'list'), {
    code: 1,
    out: '',
    err: /^The configuration is not right\. REDIS_URL: /
  })
  t.match(await command({ REDIS_URL: redisUrl, REDIS_PREFIX: prefix }, 'retry', '0-1'), {
    code: 1,
    out: '',
    err: 'There is no dead letter 0-1.\n'
  })
})

test('without REDIS_URL the command finds the Redis embedded in the data folder', async (t) => {
  const { stores } = await sceneOf(t)
  const { port, password } = new URL(stores.redisUrl)
  const DATA_DIR = await dataDirFor(t)
  mkdirSync(join(DATA_DIR, 'redis'))
  writeFileSync(join(DATA_DIR, 'redis', 'port'), `${port}\n`)
  writeFileSync(join(DATA_DIR, 'redis', 'password'), `${decodeURIComponent(password)}\n`)
  await stores.queue.add(0, { v: 0 })
  await workerFor(t, stores)
  t.equal(await drained(stores), 1)
  t.match(await command({ DATA_DIR, REDIS_PREFIX: stores.prefix }, 'list'), {
    code: 0,
    out: /known version\n1 dead letter\.\n$/
  })
})
