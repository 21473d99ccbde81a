import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { v7 as uuidv7 } from 'uuid'
import { announce } from '../shared/instances.ts'
import { createLog } from '../shared/log.ts'
import { createMetrics } from '../shared/metrics.ts'
import { openQueue } from '../shared/queue.ts'
import { Sweep } from '../worker/sweep.ts'
import { readConfig } from './config.ts'
import { cpuOfFamily } from './processes.ts'
import { checkpoint, type Ground, prepareGround } from './setup.ts'

/**
 * `node dist/bench/sweep.js`: a sweep each second over 100,000 monitors with an interval of a minute that go on being heard
 * of, but for a few that fall silent. Prints what it measured; about a minute and a half.
 */

export const MONITORS = 100_000
/** One in so many falls silent, at any second of a minute. */
const SILENT = 97
const INTERVAL = 60
const GRACE = 30
const WARM_UP_ROUNDS = 5
const ROUNDS = 60

export interface SweepFigures {
  /** CPU seconds a second of sweeping: of the process that sweeps, and of PostgreSQL with what heartbeats cost it taken off. */
  worker: number
  postgres: number
  /** Seconds from a deadline until its transition is written. */
  delays: { median: number; longest: number; count: number }
  /** Milliseconds of the longest round. */
  longestRound: number
}

async function insertMonitors({ db }: Ground, startsAt: number): Promise<string> {
  // Monitors of other measurements are left alone.
  await db.query('update monitor_states set check_at = null where check_at is not null')
  const organizationId = uuidv7()
  await db.query("insert into organizations (id, name, plan) values ($1, 'sweep', 'self-hosted')", [organizationId])
  await db.query(
    `insert into monitors (id, organization_id, name, kind, interval_seconds, grace_seconds, timeout_seconds)
     select gen_random_uuid(), $1, 'sweep', 'heartbeat', $2, $3, 10 from generate_series(1, $4)`,
    [organizationId, INTERVAL, GRACE, MONITORS]
  )
  // As a fleet that has been there for long: heard of at any time of the last minute, to be looked at when its deadline was.
  await db.query(
    `insert into monitor_states (monitor_key, organization_id, state, state_reason, observed, by_socket, last_source_id,
       last_heartbeat_at, last_received_at, check_at)
     select key, organization_id, 'up', 'reported', 'up', false, gen_random_uuid(), heard, heard,
       heard + $3 * interval '1 second'
     from (select key, organization_id, $2::timestamptz - (key % $4) * interval '1 second' as heard
       from monitors where organization_id = $1) m`,
    [organizationId, new Date(startsAt), INTERVAL + GRACE, INTERVAL]
  )
  await checkpoint(db)
  return organizationId
}

/** The heartbeats of one second, as the fast way of a worker writes them: nothing that an index holds changes. */
async function hear({ db }: Ground, organizationId: string, second: number): Promise<void> {
  await db.query(
    `update monitor_states set last_heartbeat_at = now(), last_received_at = now()
     where monitor_key % $1 = $2 and monitor_key % $3 <> 0 and organization_id = $4`,
    [INTERVAL, INTERVAL - 1 - (second % INTERVAL), SILENT, organizationId]
  )
}

async function delaysOf({ db }: Ground, since: number): Promise<SweepFigures['delays']> {
  const [row] = await db.query<SweepFigures['delays']>(
    `select count(*) as count, percentile_cont(0.5) within group (order by delay) as median, max(delay) as longest
     from (select extract(epoch from created_at - at)::float8 as delay from transitions where reason = 'missed' and at >= $1) d`,
    [new Date(since)]
  )
  return row ?? { count: 0, median: Number.NaN, longest: Number.NaN }
}

interface Spent {
  worker: number
  postgres: number
}

/** CPU seconds so far. */
function spentBy(ground: Ground): Spent {
  const { user, system } = process.cpuUsage()
  return { worker: (user + system) / 1e6, postgres: cpuOfFamily(ground.postgresPid) / 1e6 }
}

export async function measureSweep(ground: Ground): Promise<SweepFigures> {
  const prefix = 'sweep'
  const { client } = ground.redis
  const startsAt = Date.now()
  const organizationId = await insertMonitors(ground, startsAt)
  const queue = openQueue({ redis: ground.redis, prefix, shards: 1 })
  const door = announce({ client, prefix, kind: 'api', id: 'door', oldestUnqueued: () => null, clock: Date.now })
  const parts = { db: ground.db, client, prefix, queue, metrics: createMetrics(), log: createLog('bench', 'error') }
  const sweep = new Sweep({ ...parts, clock: Date.now })
  const total: Spent = { worker: 0, postgres: 0 }
  let [longestRound, measuredFrom] = [0, 0]
  try {
    const begins = performance.now()
    for (let second = 0; second < WARM_UP_ROUNDS + ROUNDS; second++) {
      await sleep(Math.max(0, begins + second * 1000 - performance.now()))
      await hear(ground, organizationId, second)
      const measured = second >= WARM_UP_ROUNDS
      if (second === WARM_UP_ROUNDS) measuredFrom = Date.now()
      const [before, from] = [spentBy(ground), performance.now()]
      await sweep.round()
      const after = spentBy(ground)
      if (!measured) continue
      longestRound = Math.max(longestRound, performance.now() - from)
      total.worker += after.worker - before.worker
      total.postgres += after.postgres - before.postgres
    }
    const delays = await delaysOf(ground, measuredFrom)
    return { worker: total.worker / ROUNDS, postgres: total.postgres / ROUNDS, delays, longestRound }
  } finally {
    await door.stop()
    await queue.stop()
  }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const ground = await prepareGround(readConfig())
  try {
    const { worker, postgres, delays, longestRound } = await measureSweep(ground)
    process.stdout.write(
      `sweep over ${MONITORS} monitors, interval ${INTERVAL} s, a round each second\n` +
        `CPU of the worker ${percent(worker)} of a core, of PostgreSQL ${percent(postgres)}\n` +
        `${delays.count} deadlines passed: noticed after ${delays.median.toFixed(2)} s (median), ${delays.longest.toFixed(2)} s at most\n` +
        `longest round ${longestRound.toFixed(0)} ms\n`
    )
  } finally {
    await ground.stop()
  }
}
