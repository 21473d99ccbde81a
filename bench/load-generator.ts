import { readFileSync } from 'node:fs'
import { createLatencies } from './latencies.ts'
import { type LoadConnection, type LoadListener, openLoadConnection } from './load-connection.ts'
import type { LoadEvent, LoadPlan, LoadResult, Sender } from './load-plan.ts'

/** Connections that are being opened at the same time: enough to hide the round trip, too few to overrun the backlog. */
const OPENING = 64
const OPENING_TRIES = 3
/** How long the generator waits for the last acknowledgements, in milliseconds. */
const LAST_ACKS_MS = 15_000
const TICK_MS = 1

interface Loop extends LoadListener {
  start(connections: readonly LoadConnection[]): void
  stop(): void
}

interface Counts {
  running: boolean
  settled: boolean
  ackedFrames: number
  ackedFramesInTime: number
  rejectedItems: number
}

function say(event: LoadEvent): void {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}

function fail(reason: string): never {
  process.stderr.write(`load generator: ${reason}\n`)
  process.exit(1)
}

/** The times of the frames that are on their way, by connection and slot. */
function createClock() {
  const dueTimes: Float64Array[] = []
  const writtenTimes: Float64Array[] = []
  const sinceDue = createLatencies()
  const sinceWritten = createLatencies()
  return {
    sinceDue,
    sinceWritten,
    admit({ index, slots }: LoadConnection): void {
      dueTimes[index] = new Float64Array(slots)
      writtenTimes[index] = new Float64Array(slots)
    },
    stamp({ index, slots }: LoadConnection, seq: number, due: number, written: number): void {
      const slot = seq % slots
      ;(dueTimes[index] as Float64Array)[slot] = due
      ;(writtenTimes[index] as Float64Array)[slot] = written
    },
    take({ index, slots }: LoadConnection, from: number, to: number): void {
      const now = performance.now()
      for (let seq = from; seq <= to; seq++) {
        sinceDue.record(now - (dueTimes[index]?.[seq % slots] ?? now))
        sinceWritten.record(now - (writtenTimes[index]?.[seq % slots] ?? now))
      }
    }
  }
}

type Clock = ReturnType<typeof createClock>

function createListener(clock: Clock, counts: Counts): LoadListener {
  return {
    onAcked(connection, from, to) {
      if (counts.settled && counts.running) clock.take(connection, from, to)
      counts.ackedFrames += to - from + 1
      if (counts.running) counts.ackedFramesInTime += to - from + 1
    },
    onRejected(items) {
      counts.rejectedItems += items
    },
    onClosed: (reason) => fail(`a socket was closed by the server: ${reason}`)
  }
}

/** Every connection keeps its window full. */
function closedLoop(plan: LoadPlan, clock: Clock, counts: Counts): Loop {
  const base = createListener(clock, counts)
  function fill(connection: LoadConnection): void {
    const room = plan.window - connection.inFlight()
    if (room <= 0) return
    const written = performance.now()
    const first = connection.write(room, Date.now())
    for (let seq = first; seq < first + room; seq++) clock.stamp(connection, seq, written, written)
  }
  return {
    ...base,
    onAcked(connection, from, to) {
      base.onAcked(connection, from, to)
      if (counts.running) fill(connection)
    },
    start: (connections) => connections.forEach(fill),
    stop() {
      counts.running = false
    }
  }
}

/**
 * Frames are due at an even rate, one connection after the other. Latency counts from the time a frame was due, so neither a
 * late timer of the generator nor a stalled server hides anything.
 */
function openLoop(plan: LoadPlan, clock: Clock, counts: Counts): Loop {
  let timer: NodeJS.Timeout | undefined
  return {
    ...createListener(clock, counts),
    start(connections) {
      const began = performance.now()
      let sent = 0
      let turn = 0
      function writeDue(): void {
        const now = performance.now()
        const wanted = Math.floor(((now - began) * plan.rate) / 1000)
        for (let tries = 0; sent < wanted && tries < connections.length; tries++) {
          const connection = connections[turn++ % connections.length] as LoadConnection
          if (connection.inFlight() >= plan.window) continue
          const due = began + (sent++ * 1000) / plan.rate
          clock.stamp(connection, connection.write(1, Date.now()), due, now)
          tries = -1
        }
        timer = setTimeout(writeDue, TICK_MS)
      }
      writeDue()
    },
    stop() {
      counts.running = false
      clearTimeout(timer)
    }
  }
}

interface Opened {
  connections: LoadConnection[]
  /** Sockets that ended before their welcome and were opened again, as an agent does. */
  reopened: number
}

async function openAll(plan: LoadPlan, senders: readonly Sender[], listener: LoadListener): Promise<Opened> {
  const connections: LoadConnection[] = []
  let next = 0
  let reopened = 0
  async function open(sender: Sender, index: number): Promise<LoadConnection> {
    for (let tries = 1; ; tries++) {
      try {
        return await openLoadConnection(plan, sender, index, listener)
      } catch (error) {
        if (tries === OPENING_TRIES) throw error
        reopened++
      }
    }
  }
  async function openMore(): Promise<void> {
    while (next < plan.connections) {
      const index = next++
      const sender = senders[plan.firstSender + index]
      if (!sender) throw new Error('the fleet has too few senders')
      connections[index] = await open(sender, index)
    }
  }
  await Promise.all(Array.from({ length: OPENING }, openMore))
  return { connections, reopened }
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

async function lastAcks(connections: readonly LoadConnection[]): Promise<number> {
  const outstanding = () => connections.reduce((sum, connection) => sum + connection.inFlight(), 0)
  const deadline = performance.now() + LAST_ACKS_MS
  while (outstanding() > 0 && performance.now() < deadline) await sleep(5)
  return outstanding()
}

async function drive(plan: LoadPlan, senders: readonly Sender[]): Promise<LoadResult | null> {
  const counts: Counts = { running: true, settled: false, ackedFrames: 0, ackedFramesInTime: 0, rejectedItems: 0 }
  const clock = createClock()
  const loop = plan.loop === 'open' ? openLoop(plan, clock, counts) : closedLoop(plan, clock, counts)
  const opening = performance.now()
  const { connections, reopened } = await openAll(plan, senders, loop)
  connections.forEach(clock.admit)
  say({ event: 'connected', milliseconds: performance.now() - opening, reopened })
  if (plan.loop === 'idle') return null

  const startedAt = Date.now()
  const began = performance.now()
  const cpuBefore = process.cpuUsage()
  loop.start(connections)
  await sleep(plan.settleMs)
  counts.settled = true
  await sleep(plan.durationMs - plan.settleMs)
  loop.stop()
  const seconds = (performance.now() - began) / 1000
  const cpu = process.cpuUsage(cpuBefore)
  const unackedFrames = await lastAcks(connections)
  return {
    ackedPerSecond: (counts.ackedFramesInTime * plan.itemsPerFrame) / seconds,
    acked: counts.ackedFrames * plan.itemsPerFrame,
    unacked: unackedFrames * plan.itemsPerFrame,
    rejected: counts.rejectedItems,
    reopened,
    p50: clock.sinceDue.quantile(0.5),
    p99: clock.sinceDue.quantile(0.99),
    p99SinceWritten: clock.sinceWritten.quantile(0.99),
    startedAt,
    cpuShare: (cpu.user + cpu.system) / 1e6 / seconds
  }
}

const plan = JSON.parse(process.argv[2] ?? '{}') as LoadPlan
// The parent's end of the pipe closes when it wants an idle run to stop, and when it has died.
process.stdin.on('end', () => process.exit(0)).resume()
try {
  const senders = JSON.parse(readFileSync(plan.fleetFile, 'utf8')) as Sender[]
  const result = await drive(plan, senders)
  if (result) {
    say({ event: 'done', ...result })
    process.exit(0)
  }
} catch (error) {
  fail(error instanceof Error ? error.message : String(error))
}
