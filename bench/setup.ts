import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { startPostgres } from '../local/postgres.ts'
import { startRedis } from '../local/redis.ts'
import { connectDb, type Database } from '../shared/db.ts'
import { createLog } from '../shared/log.ts'
import { connectRedis, type RedisConnection } from '../shared/redis.ts'
import { createSecrets } from '../shared/secrets.ts'
import { claimFolder } from './claim.ts'
import type { BenchConfig } from './config.ts'
import { createFleet } from './fleet.ts'
import { runToEnd } from './processes.ts'

/** What every phase measures on. */
export interface Ground {
  dir: string
  childEnv: Record<string, string>
  databaseUrl: string
  redisUrl: string
  secretsKey: string
  fleetFile: string
  postgresPid: number
  redisPid: number
  /** As the worker's role, which owns the heartbeats. */
  db: Database
  redis: RedisConnection
  versions: { postgres: string; redis: string }
  stop(): Promise<void>
}

const DAY_MS = 86_400_000

/** The bare pipeline's table: what the product stores of a heartbeat, without its identities. */
async function createBareTable(db: Database): Promise<void> {
  await db.query(`create table bare_heartbeats (
    organization_key bigint not null,
    monitor_key bigint not null,
    "timestamp" timestamptz not null,
    status smallint not null,
    latency real,
    received_at timestamptz not null default now(),
    primary key (monitor_key, "timestamp")
  ) partition by range ("timestamp")`)
  // The day before too, for a run that meets midnight on its way.
  for (const offset of [-1, 0, 1]) {
    const day = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS + offset * DAY_MS)
    const next = new Date(day.getTime() + DAY_MS)
    const name = `bare_heartbeats_${day.toISOString().slice(0, 10).replaceAll('-', '')}`
    await db.query(
      `create table ${name} partition of bare_heartbeats
       for values from ('${day.toISOString()}') to ('${next.toISOString()}')`
    )
  }
}

/** Gathers statistics and writes all changed pages out, so that no measurement pays for what was done before it. */
export async function checkpoint(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    // Back to the login's own rights: the worker's role may not ask for a checkpoint.
    await tx.query('set local role none')
    await tx.query('analyze')
    await tx.query('checkpoint')
  })
}

async function readVersions(db: Database, redis: RedisConnection): Promise<Ground['versions']> {
  const [row] = await db.query<{ server_version: string }>('show server_version')
  const info = String(await redis.client.call('INFO', 'server'))
  return {
    postgres: row?.server_version ?? '?',
    redis: /(?:redis|valkey)_version:(\S+)/.exec(info)?.[1] ?? '?'
  }
}

/** Starts stores of its own, fsync on and Redis at `appendfsync always`, migrates and puts the fleet in. */
export async function prepareGround({ dir, childEnv }: BenchConfig): Promise<Ground> {
  const release = claimFolder(dir)
  const log = createLog('bench', 'error')
  const postgres = await startPostgres({ dataDir: dir, log })
  const store = await startRedis({ dataDir: dir, log })
  const secretsKey = randomBytes(32).toString('base64')
  await runToEnd('migrate', '../scripts/migrate.js', [], {
    ...childEnv,
    DATABASE_URL: postgres.url,
    REDIS_URL: store.url,
    SECRETS_KEY: secretsKey,
    DATA_DIR: dir
  })
  const db = connectDb({ url: postgres.url, role: 'pulsegate_system', log, statementTimeoutMs: 0 })
  const redis = await connectRedis({ url: store.url, log, whenAway: 'wait' })
  const fleetFile = join(dir, 'fleet.json')
  await createBareTable(db)
  await createFleet(db, createSecrets(secretsKey), fleetFile)
  await checkpoint(db)
  return {
    dir,
    childEnv,
    databaseUrl: postgres.url,
    redisUrl: store.url,
    secretsKey,
    fleetFile,
    postgresPid: postgres.pid,
    redisPid: store.pid,
    db,
    redis,
    versions: await readVersions(db, redis),
    async stop() {
      await Promise.all([db.stop(), redis.stop()])
      await Promise.all([postgres.stop(), store.stop()])
      release()
    }
  }
}
