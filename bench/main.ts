import { writeFileSync } from 'node:fs'
import { StartupError } from '../shared/env.ts'
import { readConfig } from './config.ts'
import { type Drain, measureDrain } from './drain.ts'
import { type IdleMemory, measureIdleMemory } from './idle.ts'
import type { LoadResult } from './load-plan.ts'
import { type Measurement, measurePipeline, median, planFor, runLoad, type Shape } from './measure.ts'
import { type Pipeline, startBarePipeline, startOurPipeline } from './pipelines.ts'
import { startProcess } from './processes.ts'
import { measureRawCopy } from './raw-copy.ts'
import { type Figures, type Pair, renderReport } from './report.ts'
import { type Ground, prepareGround } from './setup.ts'

/** `npm run bench`: about five minutes on two cores; keep the machine quiet meanwhile. */

const RUNS = 3
const WARM_UP: Shape = { loop: 'closed', itemsPerFrame: 1, durationMs: 2500 }
const SINGLES: Shape = { loop: 'closed', itemsPerFrame: 1, durationMs: 6000 }
const TENS: Shape = { loop: 'closed', itemsPerFrame: 10, durationMs: 4000 }
const CALM: Shape = { loop: 'open', itemsPerFrame: 1, rate: 2000, durationMs: 6000 }
const BUSY: Shape = { loop: 'open', itemsPerFrame: 1, rate: 20_000, durationMs: 6000 }
const BARE_SERVER_MS = 4000
const RAW_ROWS = 1_000_000
const REPORT = 'docs/benchmarks.md'

const began = Date.now()

function progress(text: string): void {
  const seconds = String(Math.round((Date.now() - began) / 1000)).padStart(3)
  process.stdout.write(`${seconds} s  ${text}\n`)
}

function thousands(perSecond: number): string {
  return `${Math.round(perSecond / 1000)}k/s`
}

async function repeat<T>(runs: number, once: () => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let run = 0; run < runs; run++) results.push(await once())
  return results
}

async function measureBareServer(ground: Ground): Promise<LoadResult> {
  const server = startProcess('bare server', './bare-server.js', [], ground.childEnv)
  try {
    const { port } = await server.event<{ port: number }>('ready')
    const shape: Shape = { loop: 'closed', itemsPerFrame: 1, durationMs: BARE_SERVER_MS }
    const results = await repeat(RUNS, () =>
      runLoad(ground, { ...planFor(ground, { port, caFile: null }, shape), hello: false })
    )
    const middle = median(results, (result) => result.ackedPerSecond)
    progress(`bare uWebSockets.js: ${thousands(middle.ackedPerSecond)} answered`)
    return middle
  } finally {
    await server.stop()
  }
}

async function measureRaw(ground: Ground): Promise<Figures['rawCopy']> {
  // The first one pays for new files and cold code.
  await measureRawCopy(ground.db, 10_000, RAW_ROWS / 2)
  const figures: Figures['rawCopy'] = []
  for (const [groupRows, rows] of [
    [50_000, RAW_ROWS],
    [10_000, RAW_ROWS / 2],
    [1000, RAW_ROWS / 2]
  ] as const) {
    const results = await repeat(RUNS, () => measureRawCopy(ground.db, groupRows, rows))
    const rowsPerSecond = median(results, (result) => result)
    figures.push({ groupRows, rowsPerSecond })
    progress(`raw COPY in groups of ${groupRows}: ${thousands(rowsPerSecond)}`)
  }
  return figures
}

/** The two in turn, so that a machine that changes its speed meanwhile changes both. */
async function measurePair(
  ground: Ground,
  { ours, bare }: Pair<Pipeline>,
  shape: Shape,
  runs: number
): Promise<Pair<Measurement[]>> {
  const results: Pair<Measurement[]> = { ours: [], bare: [] }
  for (let run = 0; run < runs; run++) {
    results.bare.push(await measurePipeline(ground, bare, shape))
    results.ours.push(await measurePipeline(ground, ours, shape))
  }
  for (const name of ['bare', 'ours'] as const) {
    const middle = median(results[name], (result) => result.persistedPerSecond)
    progress(
      `${name}, ${shape.itemsPerFrame} per frame, ${shape.rate ? `${shape.rate}/s` : 'as fast as it goes'}: ` +
        `${thousands(middle.ackedPerSecond)} acked, ${thousands(middle.persistedPerSecond)} persisted, p99 ${middle.p99} ms`
    )
  }
  return results
}

async function measurePipelines(
  ground: Ground
): Promise<Pick<Figures, 'singles' | 'tens' | 'calm' | 'busy' | 'drains'>> {
  const pair: Pair<Pipeline> = {
    ours: await startOurPipeline(ground, { tlsMode: 'proxy' }),
    bare: await startBarePipeline(ground)
  }
  try {
    await measurePair(ground, pair, WARM_UP, 1)
    const singles = await measurePair(ground, pair, SINGLES, RUNS)
    const tens = await measurePair(ground, pair, TENS, 2)
    const busy = await measurePair(ground, pair, BUSY, RUNS)
    const calm = await measurePair(ground, pair, CALM, 1)
    const drains = await repeat<Drain>(RUNS, () => measureDrain(ground, pair.ours))
    progress(`our worker alone: ${thousands(median(drains, (drain) => drain.rowsPerSecond).rowsPerSecond)} rows`)
    return { singles, tens, calm, busy, drains }
  } finally {
    await Promise.all([pair.ours.stop(), pair.bare.stop()])
  }
}

/** The same gateway ending TLS itself. */
async function measureTls(ground: Ground): Promise<Measurement> {
  const pipeline = await startOurPipeline(ground, { tlsMode: 'direct' })
  try {
    await measurePipeline(ground, pipeline, WARM_UP)
    const result = await measurePipeline(ground, pipeline, SINGLES)
    progress(
      `ours with TLS: ${thousands(result.ackedPerSecond)} acked, ${thousands(result.persistedPerSecond)} persisted`
    )
    return result
  } finally {
    await pipeline.stop()
  }
}

async function measureIdle(ground: Ground): Promise<IdleMemory> {
  const idle = await measureIdleMemory(ground)
  progress(`${idle.connections} idle connections: ${Math.round(idle.perConnection)} B each`)
  return idle
}

async function measureAll(ground: Ground): Promise<Figures> {
  const idle = await measureIdle(ground)
  const bareServer = await measureBareServer(ground)
  const rawCopy = await measureRaw(ground)
  const loads = await measurePipelines(ground)
  const tls = await measureTls(ground)
  return { idle, bareServer, rawCopy, ...loads, tls, versions: ground.versions }
}

async function bench(): Promise<void> {
  progress('starting PostgreSQL and Redis, inserting a fleet of agents')
  const ground = await prepareGround(readConfig())
  try {
    const report = renderReport(await measureAll(ground))
    writeFileSync(REPORT, report)
    progress(`written to ${REPORT}`)
    process.stdout.write(`\n${report}`)
  } finally {
    await ground.stop()
  }
}

try {
  await bench()
} catch (error) {
  if (!(error instanceof StartupError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
