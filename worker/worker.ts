import type { Database } from '../shared/db.ts'
import type { Log } from '../shared/log.ts'
import type { Metrics } from '../shared/metrics.ts'
import { type IngestQueue, workQueue } from '../shared/queue.ts'
import type { RedisConnection } from '../shared/redis.ts'
import { startRounds } from '../shared/rounds.ts'
import type { Secrets } from '../shared/secrets.ts'
import { createAddressGuard } from '../shared/webhooks/address-guard.ts'
import { startAlerts } from './alerts/alerts.ts'
import { CONCURRENCY, GroupWriter } from './group-writer.ts'
import { startHistory } from './history.ts'
import { LivePublisher } from './live.ts'
import { tellNotices } from './live-notices.ts'
import { startRollups } from './rollup.ts'
import { Sweep } from './sweep.ts'

export interface WorkerDeps {
  db: Database
  /** Opened with `whenAway: 'wait'`: a worker has nobody to tell that Redis is away. */
  redis: RedisConnection
  prefix: string
  queue: IngestQueue
  /** Opens the secrets that webhooks are signed with. */
  secrets: Secrets
  /** Networks that webhooks may reach though they are private. */
  webhookAllow: readonly string[]
  metrics: Metrics
  log: Log
  clock: () => number
  /** False: heartbeats of monitors seen before change no state. The bench asks so what states cost. */
  states?: boolean
}

export interface RunningWorker {
  stop(): Promise<void>
}

const GAUGE_MS = 5000
const SWEEP_MS = 1000
const NOTICES_MS = 2000

function watchQueue({ queue, metrics, log }: WorkerDeps): NodeJS.Timeout {
  const jobs = metrics.gauge('pulsegate_queue_jobs', 'state')
  return setInterval(() => {
    queue.counts().then(
      (counts) => {
        for (const [state, count] of Object.entries(counts)) jobs.set({ state }, count)
      },
      (error) => log.warn({ err: error }, 'the queue could not be counted')
    )
  }, GAUGE_MS)
}

/** Works the ingest queues into rows and states until stopped. */
export async function startWorker(deps: WorkerDeps): Promise<RunningWorker> {
  const history = await startHistory(deps.db, deps.log, deps.clock)
  const rollups = startRollups(deps)
  const live = new LivePublisher({ ...deps, client: deps.redis.client })
  const writer = new GroupWriter({ ...deps, live })
  const work = workQueue({
    redis: deps.redis,
    prefix: deps.prefix,
    shards: deps.queue.shards,
    concurrency: CONCURRENCY,
    log: deps.log,
    handle: (data) => writer.write(data)
  })
  const sweep = new Sweep({ ...deps, live, client: deps.redis.client })
  const sweeping = await startRounds({
    redis: deps.redis,
    prefix: deps.prefix,
    name: 'sweep',
    everyMs: SWEEP_MS,
    log: deps.log,
    run: async () => {
      await sweep.round()
    }
  })
  const noticing = await startRounds({
    redis: deps.redis,
    prefix: deps.prefix,
    name: 'live-notices',
    everyMs: NOTICES_MS,
    log: deps.log,
    run: () => tellNotices({ ...deps, client: deps.redis.client })
  })
  const alerts = startAlerts({ ...deps, guard: createAddressGuard(deps.webhookAllow), random: Math.random })
  const watching = watchQueue(deps)
  return {
    stop: async () => {
      clearInterval(watching)
      // At once: the queue waits for the jobs under way, and the writer hands back those that have not begun.
      const parts = [work, writer, history, rollups, sweeping, noticing, alerts]
      await Promise.all(parts.map((part) => part.stop()))
      await live.stop()
    }
  }
}
