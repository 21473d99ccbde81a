import { fileURLToPath } from 'node:url'
import { connectDb, type Database } from '../shared/db.ts'
import type { IngestJob } from '../shared/ingest/job.ts'
import { createLog } from '../shared/log.ts'
import { createHeartbeatDays } from '../shared/store/heartbeat-days.ts'
import { WRITER_SETTINGS } from '../shared/store/monitor-states.ts'
import { mergeJobs } from '../worker/group.ts'
import { Recorder } from '../worker/record-heartbeats.ts'
import { readConfig } from './config.ts'
import { type FleetMonitor, readFleetMonitors } from './fleet.ts'
import type { Goal } from './goal.ts'
import { median } from './measure.ts'
import { checkpoint, type Ground, prepareGround } from './setup.ts'

/**
 * `node dist/bench/states.js`: how fast a worker writes groups with all that states need, and how fast the same heartbeats
 * without. Nothing else runs, so the ratio is harsher than that of a whole pipeline, of which the writer is a part.
 */

const DAY_MS = 86_400_000
const MONITORS = 10_000
/** Heartbeats of each monitor in a group, as in a worker that is kept busy. */
const BEATS = 2
const GROUPS = 20
const ROUNDS = 5

export interface StatesFigures {
  /** Rows a second. */
  on: number
  off: number
}

/** A group of every monitor `BEATS` heartbeats, each a millisecond after the last. */
function jobsOf(monitors: readonly FleetMonitor[], base: number): IngestJob[] {
  const agents = [...new Set(monitors.map(({ agentId }) => agentId))]
  const places = new Map(agents.map((agentId, place) => [agentId, place]))
  return Array.from({ length: BEATS }, (_, beat) => ({
    v: 1,
    base,
    sources: agents.map((agentId) => [agentId, 'socket']),
    m: monitors.map(({ key }) => key),
    t: monitors.map(() => beat),
    r: monitors.map(() => beat + 5),
    s: monitors.map(() => 0),
    l: monitors.map(() => 23.5),
    x: monitors.map(({ agentId }) => places.get(agentId) as number),
    texts: []
  }))
}

export async function measureStates({ db, databaseUrl }: Ground): Promise<StatesFigures> {
  const log = createLog('bench', 'error')
  const writer: Database = connectDb({ url: databaseUrl, role: 'pulsegate_system', log, settings: WRITER_SETTINGS })
  const monitors = await readFleetMonitors(db, MONITORS)
  const today = Math.floor(Date.now() / DAY_MS)
  await createHeartbeatDays(db, [today, today + 1])
  const recorder = new Recorder(writer, Date.now)
  let base = Date.now()

  async function rate(states: boolean): Promise<number> {
    await db.query('truncate heartbeats')
    await checkpoint(db)
    let [rows, ms] = [0, 0]
    for (let group = 0; group < GROUPS; group++) {
      const jobs = jobsOf(monitors, base)
      base += BEATS
      const began = performance.now()
      rows += (await recorder.record(mergeJobs(jobs), 'copy', { states })).rows
      ms += performance.now() - began
    }
    return (rows * 1000) / ms
  }

  try {
    // Its monitors are known and its code is compiled before anything counts.
    await rate(true)
    const rounds: StatesFigures[] = []
    for (let round = 0; round < ROUNDS; round++) rounds.push({ off: await rate(false), on: await rate(true) })
    return median(rounds, ({ on, off }) => on / off)
  } finally {
    await db.query('truncate heartbeats')
    await writer.stop()
  }
}

export function statesGoal({ on, off }: StatesFigures): Goal {
  const each = (rate: number) => Math.round(rate).toLocaleString('en-US')
  return {
    what: 'rows per second that the worker writes with states, of what it writes without',
    wanted: '≥ 0.8',
    measured: `${(on / off).toFixed(2)} (${each(on)} and ${each(off)})`,
    met: on / off >= 0.8
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const ground = await prepareGround(readConfig())
  try {
    const { what, wanted, measured } = statesGoal(await measureStates(ground))
    process.stdout.write(`${what} | ${wanted} | ${measured}\n`)
  } finally {
    await ground.stop()
  }
}
