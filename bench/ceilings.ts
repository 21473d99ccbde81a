import { type Drain, measureDrain } from './drain.ts'
import type { LoadResult } from './load-plan.ts'
import { planFor, runLoad } from './measure.ts'
import type { Pipeline } from './pipelines.ts'
import { type BenchProcess, startProcess } from './processes.ts'
import { measureRawCopy } from './raw-copy.ts'
import type { Ground } from './setup.ts'

export const COPY_GROUPS = [50_000, 10_000, 1000] as const

/** One round: what server and database can do at best, and our own halves beside them. */
export interface Ceilings {
  /** Bare uWebSockets.js answering every frame. */
  answering: LoadResult
  /** Rows per second of raw COPY, in groups of COPY_GROUPS rows each. */
  rawCopy: number[]
  /** Our gateway alone, then our worker alone. */
  drain: Drain
}

const ANSWERING_MS = 4000
/** Rows of the largest groups; half as many of the others. */
const RAW_ROWS = 1_000_000

async function measureAnswering(ground: Ground, server: BenchProcess, port: number): Promise<LoadResult> {
  const plan = planFor(ground, { port, caFile: null }, { loop: 'closed', itemsPerFrame: 1, durationMs: ANSWERING_MS })
  const result = await runLoad(ground, { ...plan, hello: false })
  if (server.ended()) throw new Error('the bare server ended')
  return result
}

/** All of a round come close after each other, so that their ratios hold on a machine that changes its speed. */
export async function measureCeilings(ground: Ground, ours: Pipeline, rounds: number): Promise<Ceilings[]> {
  const server = startProcess('bare server', './bare-server.js', [], ground.childEnv)
  try {
    const { port } = await server.event<{ port: number }>('ready')
    // The first one pays for new files and cold code.
    await measureRawCopy(ground.db, COPY_GROUPS[1], RAW_ROWS / 2)
    const results: Ceilings[] = []
    for (let round = 0; round < rounds; round++) {
      const answering = await measureAnswering(ground, server, port)
      const rawCopy: number[] = []
      for (const groupRows of COPY_GROUPS) {
        const rows = groupRows === COPY_GROUPS[0] ? RAW_ROWS : RAW_ROWS / 2
        rawCopy.push(await measureRawCopy(ground.db, groupRows, rows))
      }
      results.push({ answering, rawCopy, drain: await measureDrain(ground, ours) })
    }
    return results
  } finally {
    await server.stop()
  }
}
