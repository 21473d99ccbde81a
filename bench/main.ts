import { writeFileSync } from 'node:fs'
import { StartupError } from '../shared/env.ts'
import { measureCeilings } from './ceilings.ts'
import { type BenchConfig, readConfig } from './config.ts'
import { type HistoryFigures, measureHistory } from './history.ts'
import { type IdleMemory, measureIdleMemory } from './idle.ts'
import { measureKeyCheck } from './key-check.ts'
import { type LoginRound, measureLogins } from './logins.ts'
import { type Measurement, measurePipeline, median, type Shape } from './measure.ts'
import { measurePagesApart } from './pages.ts'
import { type Pipeline, startBarePipeline, startOurPipeline } from './pipelines.ts'
import { type Figures, type Pair, renderReport } from './report.ts'
import { type Ground, prepareGround } from './setup.ts'
import { measureStates, type StatesFigures } from './states.ts'
import { measureSweep, type SweepFigures } from './sweep.ts'

/** `npm run bench`: about a quarter of an hour on two cores, and 11 GB of disk; keep the machine quiet meanwhile. */

const RUNS = 3
const WARM_UP: Shape = { loop: 'closed', itemsPerFrame: 1, durationMs: 2500 }
const SINGLES: Shape = { loop: 'closed', itemsPerFrame: 1, durationMs: 6000 }
const TENS: Shape = { loop: 'closed', itemsPerFrame: 10, durationMs: 4000 }
const CALM: Shape = { loop: 'open', itemsPerFrame: 1, rate: 2000, durationMs: 6000 }
const BUSY: Shape = { loop: 'open', itemsPerFrame: 1, rate: 20_000, durationMs: 6000 }
const REPORT = 'docs/benchmarks.md'

const began = Date.now()

function progress(text: string): void {
  const seconds = String(Math.round((Date.now() - began) / 1000)).padStart(3)
  process.stdout.write(`${seconds} s  ${text}\n`)
}

function thousands(perSecond: number): string {
  return `${Math.round(perSecond / 1000)}k/s`
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
): Promise<Pick<Figures, 'singles' | 'tens' | 'calm' | 'busy' | 'ceilings'>> {
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
    const ceilings = await measureCeilings(ground, pair.ours, RUNS)
    const { answering, rawCopy, drain } = median(ceilings, (round) => round.drain.rowsPerSecond)
    progress(
      `bare uWebSockets.js ${thousands(answering.ackedPerSecond)}, raw COPY ${thousands(rawCopy[0] ?? 0)}, ` +
        `our gateway alone ${thousands(drain.filling.ackedPerSecond)}, our worker alone ${thousands(drain.rowsPerSecond)}`
    )
    return { singles, tens, calm, busy, ceilings }
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

async function measureKeys(ground: Ground): Promise<number> {
  const keyCheck = await measureKeyCheck(ground)
  progress(`one check of a cached key: ${keyCheck.toFixed(2)} µs of CPU`)
  return keyCheck
}

async function measureSignIns(ground: Ground): Promise<LoginRound[]> {
  const rounds = await measureLogins(ground, RUNS)
  const { alone, beside } = median(rounds, (round) => round.beside.p99 / round.alone.p99)
  progress(`history p99 ${alone.p99} ms, beside sign-ins ${beside.p99} ms`)
  return rounds
}

async function measureSilence(ground: Ground): Promise<SweepFigures> {
  const sweep = await measureSweep(ground)
  progress(`deadlines noticed after ${sweep.delays.longest.toFixed(2)} s at most, ${sweep.worker.toFixed(3)} of a core`)
  return sweep
}

async function measureWriting(ground: Ground): Promise<StatesFigures> {
  const states = await measureStates(ground, { warmUp: WARM_UP, shape: SINGLES, runs: RUNS })
  const [on, off] = [states.on, states.off].map((result) => thousands(result.persistedPerSecond))
  progress(`ours with states ${on} persisted, without ${off}`)
  return states
}

async function measureReading(ground: Ground): Promise<HistoryFigures> {
  progress('loading five days of ten million heartbeats')
  const history = await measureHistory(ground)
  progress(`24 h of raw heartbeats ${history.rawOurs.toFixed(1)} ms, bare ${history.rawBare.toFixed(1)} ms`)
  return history
}

async function measureAll(ground: Ground): Promise<Omit<Figures, 'pages'>> {
  const keyCheck = await measureKeys(ground)
  const idle = await measureIdle(ground)
  const loads = await measurePipelines(ground)
  const tls = await measureTls(ground)
  const states = await measureWriting(ground)
  const signIns = await measureSignIns(ground)
  // Nearly last: it fills the tables of the monitors.
  const sweep = await measureSilence(ground)
  // Last: it leaves ten gigabytes.
  const history = await measureReading(ground)
  return { keyCheck, idle, ...loads, tls, states, signIns, sweep, history, versions: ground.versions }
}

async function measureGround(config: BenchConfig): Promise<Omit<Figures, 'pages'>> {
  progress('starting PostgreSQL and Redis, inserting a fleet of agents')
  const ground = await prepareGround(config)
  try {
    return await measureAll(ground)
  } finally {
    await ground.stop()
  }
}

async function bench(): Promise<void> {
  const config = readConfig()
  const figures = await measureGround(config)
  progress('the dashboard, on stores of its own')
  const pages = await measurePagesApart(config)
  const report = renderReport({ ...figures, pages })
  writeFileSync(REPORT, report)
  progress(`written to ${REPORT}`)
  process.stdout.write(`\n${report}`)
}

try {
  await bench()
} catch (error) {
  if (!(error instanceof StartupError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
