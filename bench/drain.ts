import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadResult } from './load-plan.ts'
import { cleanSlate, countRows, planFor, runLoad, untilEmpty } from './measure.ts'
import type { Pipeline } from './pipelines.ts'
import type { Ground } from './setup.ts'

export interface Drain {
  /** Filling the queue: gateway and Redis alone, one heartbeat per frame. */
  filling: LoadResult
  /** Rows per second from the first job that a freshly started worker takes to the last that it completes. */
  rowsPerSecond: number
}

const FILL_MS = 4000
const POLL_MS = 5
const START_MS = 20_000

async function untilWorking(pipeline: Pipeline): Promise<number> {
  const deadline = Date.now() + START_MS
  while ((await pipeline.active()) === 0) {
    if (Date.now() > deadline) throw new Error('the worker took no job')
    await sleep(POLL_MS)
  }
  return Date.now()
}

/** Fills the queue while the worker is stopped, then lets a new worker empty it with the machine to itself. */
export async function measureDrain(ground: Ground, pipeline: Pipeline): Promise<Drain> {
  await pipeline.stopWorker()
  await cleanSlate(ground, pipeline.table)
  const filling = await runLoad(
    ground,
    planFor(ground, pipeline, { loop: 'closed', itemsPerFrame: 1, durationMs: FILL_MS })
  )
  const [beganAt] = await Promise.all([untilWorking(pipeline), pipeline.startWorker()])
  const emptyAt = await untilEmpty(pipeline)
  const rows = await countRows(ground, pipeline.table)
  if (rows !== filling.acked)
    throw new Error(`${filling.acked} heartbeats were acknowledged but ${rows} rows are there`)
  return { filling, rowsPerSecond: rows / ((emptyAt - beganAt) / 1000) }
}
