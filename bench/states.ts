import type { Goal } from './goal.ts'
import { type Measurement, measurePipeline, median, type Shape } from './measure.ts'
import { startOurPipeline } from './pipelines.ts'
import type { Ground } from './setup.ts'

export interface StatesFigures {
  on: Measurement
  off: Measurement
}

/**
 * The whole pipeline beside one that differs in nothing but its worker, which leaves states alone, in turn. Both have seen
 * every monitor before anything counts.
 */
export async function measureStates(
  ground: Ground,
  { warmUp, shape, runs }: { warmUp: Shape; shape: Shape; runs: number }
): Promise<StatesFigures> {
  const on = await startOurPipeline(ground, { tlsMode: 'proxy' })
  const off = await startOurPipeline(ground, { tlsMode: 'proxy', states: false })
  try {
    for (const pipeline of [on, off]) await measurePipeline(ground, pipeline, warmUp)
    const rounds: StatesFigures[] = []
    for (let run = 0; run < runs; run++) {
      const without = await measurePipeline(ground, off, shape)
      rounds.push({ off: without, on: await measurePipeline(ground, on, shape) })
    }
    return median(rounds, (round) => round.on.persistedPerSecond / round.off.persistedPerSecond)
  } finally {
    await Promise.all([on.stop(), off.stop()])
  }
}

export function statesGoal({ on, off }: StatesFigures): Goal {
  const each = (rate: number) => Math.round(rate).toLocaleString('en-US')
  const share = on.persistedPerSecond / off.persistedPerSecond
  return {
    what: 'persisted per second with states, of a worker that leaves states alone',
    wanted: '≥ 0.8',
    measured: `${share.toFixed(2)} (${each(on.persistedPerSecond)} and ${each(off.persistedPerSecond)})`,
    met: share >= 0.8
  }
}
