import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../../local/postgres.ts'
import { startRedis } from '../../local/redis.ts'
import { migrate } from '../../scripts/migrate.ts'
import { createLog } from '../../shared/log.ts'
import { databaseUrl, TEMPLATE, withAdmin } from './database.ts'

/**
 * The stores of one test run, started by scripts/test.mjs: prints their addresses as one JSON line, lives until its
 * stdin ends (whatever ends the runner), then stops them and removes their files. TEST_DATABASE_URL and TEST_REDIS_URL,
 * where set, are used instead; the template database is made in either case.
 */
const stops: Array<() => Promise<unknown>> = []
const log = {
  info: () => undefined,
  warn: (_fields: object, message: string) => console.error(message)
}

async function makeTemplate(serverUrl: string): Promise<void> {
  await withAdmin(serverUrl, async (admin) => {
    await admin.query(`drop database if exists ${TEMPLATE} with (force)`)
    await admin.query(`create database ${TEMPLATE}`)
  })
  await migrate(databaseUrl(serverUrl, TEMPLATE), createLog('migrate', 'fatal'))
  // A forgotten connection to the template would make every clone fail.
  await withAdmin(serverUrl, (admin) => admin.query(`alter database ${TEMPLATE} allow_connections false`))
}

async function startStores(): Promise<{ TEST_DATABASE_URL: string; TEST_REDIS_URL: string }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'pulsegate-test-'))
  stops.push(() => rm(dataDir, { recursive: true, force: true }))
  const startDatabase = async () => {
    if (process.env.TEST_DATABASE_URL) return process.env.TEST_DATABASE_URL
    const postgres = await startPostgres({ dataDir, log, fast: true })
    const { movedTo } = postgres
    if (movedTo !== undefined) stops.push(() => rm(movedTo.dir, { recursive: true, force: true }))
    stops.push(postgres.stop)
    return postgres.url
  }
  const startQueueStore = async () => {
    if (process.env.TEST_REDIS_URL) return process.env.TEST_REDIS_URL
    const redis = await startRedis({ dataDir, log })
    stops.push(redis.stop)
    return redis.url
  }
  const [database, redis] = await Promise.allSettled([startDatabase(), startQueueStore()])
  if (database.status === 'rejected') throw database.reason
  if (redis.status === 'rejected') throw redis.reason
  await makeTemplate(database.value)
  return { TEST_DATABASE_URL: database.value, TEST_REDIS_URL: redis.value }
}

// The terminal's Ctrl-C reaches the tests too; the stores stay until those have ended and the runner lets go.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
const released = new Promise<void>((resolve) => process.stdin.once('close', resolve).resume())
try {
  console.log(JSON.stringify(await startStores()))
  await released
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  for (const stop of stops.reverse()) await stop()
  process.stdin.destroy()
}
