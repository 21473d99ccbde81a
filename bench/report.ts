import { arch, cpus, platform, totalmem } from 'node:os'
import { type Ceilings, COPY_GROUPS } from './ceilings.ts'
import { dropRatio } from './drop.ts'
import type { Goal } from './goal.ts'
import { type HistoryFigures, historyGoals } from './history.ts'
import type { IdleMemory } from './idle.ts'
import { LOGINS_PER_SECOND, type LoginRound, READS_PER_SECOND } from './logins.ts'
import { CONNECTIONS, type Measurement, median, PROCESSES } from './measure.ts'
import { notes, whole } from './notes.ts'
import { type PagesFigures, pagesLines } from './pages.ts'
import type { Ground } from './setup.ts'
import { type StatesFigures, statesGoal } from './states.ts'
import { MONITORS, type SweepFigures } from './sweep.ts'

export interface Pair<T> {
  ours: T
  bare: T
}

export interface Figures {
  /** CPU microseconds of one check of a cached API key. */
  keyCheck: number
  idle: IdleMemory
  /** Closed loop: one heartbeat a frame, ten a frame. */
  singles: Pair<Measurement[]>
  tens: Pair<Measurement[]>
  /** Open loop: 2,000 and 20,000 heartbeats a second. */
  calm: Pair<Measurement[]>
  busy: Pair<Measurement[]>
  ceilings: Ceilings[]
  /** As `singles`, the gateway ending TLS. */
  tls: Measurement
  /** History while nobody signs in, and while many do. */
  signIns: LoginRound[]
  sweep: SweepFigures
  states: StatesFigures
  history: HistoryFigures
  /** Or why there are none. */
  pages: PagesFigures | string
  versions: Ground['versions']
}

/** A generator that uses more than this share of a core may itself have been what limited the line. */
const GENERATOR_LIMIT = 0.8
const IDLE_BYTES = 4096
const P99_MS = 15
/** History may take so much longer while people sign in. */
const BESIDE_RATIO = 2
const KEY_CHECK_US = 3

function middleOf(values: readonly number[]): number {
  return median(values, (value) => value)
}

function middle(results: readonly Measurement[], read: (result: Measurement) => number): number {
  return middleOf(results.map(read))
}

function ratio(pair: Pair<Measurement[]>, read: (result: Measurement) => number): number {
  return middle(pair.ours, read) / middle(pair.bare, read)
}

const besideRatio = ({ alone, beside }: LoginRound) => beside.p99 / alone.p99
const acked = (result: Measurement) => result.ackedPerSecond
const persisted = (result: Measurement) => result.persistedPerSecond

function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function ceiling({ ceilings }: Figures, read: (round: Ceilings) => number): number {
  return middleOf(ceilings.map(read))
}

const answered = (round: Ceilings) => round.answering.ackedPerSecond
const copied = (round: Ceilings) => round.rawCopy[0] ?? Number.NaN
const filled = (round: Ceilings) => round.drain.filling.ackedPerSecond
const drained = (round: Ceilings) => round.drain.rowsPerSecond

function atLeast(what: string, wanted: number, measured: number): Goal {
  return { what, wanted: `≥ ${wanted}`, measured: measured.toFixed(2), met: measured >= wanted }
}

const SWEEP_SECONDS = 2
const SWEEP_SHARE = 0.1

function goals(figures: Figures): Goal[] {
  const p99 = middle(figures.busy.ours, (result) => result.p99)
  const { connections, perConnection, resident } = figures.idle
  const beside = median(figures.signIns, besideRatio)
  return [
    atLeast('acked per second, of the bare pipeline’s', 0.6, ratio(figures.singles, acked)),
    atLeast('persisted per second, of the bare pipeline’s', 0.6, ratio(figures.singles, persisted)),
    {
      what: 'acknowledged at 20,000/s, p99',
      wanted: `≤ ${P99_MS} ms`,
      measured: `${p99.toFixed(1)} ms`,
      met: p99 <= P99_MS
    },
    {
      what: 'CPU of one check of an API key that is cached',
      wanted: `≤ ${KEY_CHECK_US} µs`,
      measured: `${figures.keyCheck.toFixed(2)} µs`,
      met: figures.keyCheck <= KEY_CHECK_US
    },
    atLeast(
      'rows per second of a worker emptying a full queue, of raw COPY’s',
      0.5,
      ceiling(figures, (round) => drained(round) / copied(round))
    ),
    {
      what: `gateway memory per idle connection, ${whole(connections)} of them`,
      wanted: '≤ 4 kB',
      measured: `${(perConnection / 1024).toFixed(2)} kB (the whole process: ${Math.round(resident / 2 ** 20)} MiB)`,
      met: perConnection <= IDLE_BYTES
    },
    {
      what: `history p99 beside ${LOGINS_PER_SECOND} sign-ins a second, of what it is without (${READS_PER_SECOND} reads a second)`,
      wanted: `≤ ${BESIDE_RATIO}`,
      measured: `${besideRatio(beside).toFixed(2)} (${beside.alone.p99.toFixed(1)} and ${beside.beside.p99.toFixed(1)} ms; other programs used ${beside.others.toFixed(2)} cores)`,
      met: besideRatio(beside) <= BESIDE_RATIO
    },
    {
      what: `from a deadline until its transition is written, ${whole(MONITORS)} monitors, ${whole(figures.sweep.delays.count)} deadlines, the longest`,
      wanted: `≤ ${SWEEP_SECONDS} s`,
      measured: `${figures.sweep.delays.longest.toFixed(2)} s (median ${figures.sweep.delays.median.toFixed(2)} s)`,
      met: figures.sweep.delays.longest <= SWEEP_SECONDS
    },
    {
      what: 'CPU of the worker for that, of a core',
      wanted: `≤ ${SWEEP_SHARE}`,
      measured: `${figures.sweep.worker.toFixed(3)} (PostgreSQL ${figures.sweep.postgres.toFixed(3)})`,
      met: figures.sweep.worker <= SWEEP_SHARE
    },
    statesGoal(figures.states),
    ...historyGoals(figures.history)
  ]
}

function otherRatios(figures: Figures): string[][] {
  return [
    ['acked per second in frames of 10, of the bare pipeline’s', ratio(figures.tens, acked).toFixed(2)],
    ['persisted per second in frames of 10, of the bare pipeline’s', ratio(figures.tens, persisted).toFixed(2)],
    [
      'durably acked per second with the worker stopped, of what bare uWebSockets.js answers',
      ceiling(figures, (round) => filled(round) / answered(round)).toFixed(2)
    ],
    [
      'persisted per second, of raw COPY’s rows',
      (middle(figures.singles.ours, persisted) / ceiling(figures, copied)).toFixed(2)
    ],
    ['ack p99 at 20,000/s, of the bare pipeline’s', ratio(figures.busy, (result) => result.p99).toFixed(2)],
    dropRatio(figures.history.drop)
  ]
}

function mark(cpuShare: number): string {
  return `${Math.round(cpuShare * 100)} %${cpuShare > GENERATOR_LIMIT ? ' (!)' : ''}`
}

const LOADS = [
  ['singles', 'one heartbeat a frame, as fast as it goes'],
  ['tens', '10 heartbeats a frame, as fast as it goes'],
  ['calm', '2,000/s'],
  ['busy', '20,000/s']
] as const

/** Every measured load, each pipeline a line. */
function lines(figures: Figures): Array<{ load: string; name: string; results: readonly Measurement[] }> {
  const pairs = LOADS.flatMap(([load, text]) =>
    (['ours', 'bare'] as const).map((name) => ({ load: text, name, results: figures[load][name] }))
  )
  return [...pairs, { load: LOADS[0][1], name: 'ours, with TLS', results: [figures.tls] }]
}

function loadRows(figures: Figures): string[][] {
  return lines(figures).map(({ load, name, results }) => [
    load,
    name,
    whole(middle(results, acked)),
    whole(middle(results, persisted)),
    middle(results, (result) => result.p50).toFixed(1),
    middle(results, (result) => result.p99).toFixed(1),
    middle(results, (result) => result.p99SinceWritten).toFixed(1),
    mark(middle(results, (result) => result.cpuShare)),
    middle(results, (result) => result.others).toFixed(2)
  ])
}

function cpuRows(figures: Figures): string[][] {
  return lines(figures).map(({ load, name, results }) => {
    const each = PROCESSES.map((process) => middle(results, (result) => result.cpu[process]))
    const sum = each.reduce((total, one) => total + one, 0)
    return [load, name, ...each.map((one) => one.toFixed(2)), sum.toFixed(2)]
  })
}

function ceilingRows(figures: Figures): string[][] {
  const generator = mark(ceiling(figures, (round) => round.answering.cpuShare))
  return [
    [`bare uWebSockets.js, frames answered (generator ${generator})`, whole(ceiling(figures, answered))],
    ...COPY_GROUPS.map((groupRows, place) => [
      `raw binary COPY into the same table, ${whole(groupRows)} rows at a time, one connection`,
      whole(ceiling(figures, (round) => round.rawCopy[place] ?? Number.NaN))
    ]),
    ['our worker emptying a full queue, rows', whole(ceiling(figures, drained))],
    ['our gateway with the worker stopped, durably acked', whole(ceiling(figures, filled))],
    ['connections opened: upgrade, authentication, hello, welcome', whole(figures.idle.openedPerSecond)]
  ]
}

function machine({ versions }: Figures): string {
  const [cpu] = cpus()
  return (
    `${cpus().length} cores (${cpu?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${arch()}, ` +
    `Node ${process.version}, PostgreSQL ${versions.postgres}, Redis ${versions.redis} with \`appendfsync always\`; ` +
    'everything, the load generator too, on this one machine.'
  )
}

function dashboard({ pages }: Figures): string {
  return typeof pages === 'string'
    ? `Not measured. ${pages}`
    : table(['what', 'wanted', 'measured', 'met'], pagesLines(pages))
}

/** A line only where something was noted. */
function reopenedLine(figures: Figures): string {
  const results = lines(figures).flatMap((line) => line.results)
  const reopened = results.reduce((sum, result) => sum + result.reopened, 0)
  if (reopened === 0) return ''
  return `- ${reopened} of ${whole(results.length * CONNECTIONS)} sockets ended before their welcome and were opened again.\n`
}

/** docs/benchmarks.md: ratios first, since they hold on other machines; absolute figures after them. */
export function renderReport(figures: Figures): string {
  return `# Benchmarks

Made by \`npm run bench\`; do not edit. Compare figures of one run only: absolute rates move by a quarter between runs.

Machine: ${machine(figures)}

## What we want, and what was measured

${table(
  ['goal', 'wanted', 'measured', 'met'],
  goals(figures).map((goal) => [goal.what, goal.wanted, goal.measured, goal.met ? 'yes' : '**no**'])
)}

## The dashboard

${dashboard(figures)}

## Other ratios

${table(['ratio', 'measured'], otherRatios(figures))}

## Rates and times to the acknowledgement

${table(['load', 'pipeline', 'acked/s', 'persisted/s', 'p50 ms', 'p99 ms', 'p99 ms from the write', 'generator, of a core', 'other programs, cores'], loadRows(figures))}

\`(!)\`: the load generator used more than 80 % of a core and may itself be the limit. Where other programs used
much, the line says little.

## CPU microseconds per heartbeat

${table(['load', 'pipeline', ...PROCESSES, 'sum'], cpuRows(figures))}

## Ceilings

${table(['ceiling', 'per second'], ceilingRows(figures))}

${notes(figures.idle.connections)}
${reopenedLine(figures)}`
}
