import { createHash } from 'node:crypto'
import type { AgentMonitor, MonitorKind } from '../shared/protocol/frames.ts'
import type { Heartbeat } from '../shared/protocol/heartbeat.ts'
import { formatTimestamp } from '../shared/protocol/timestamp.ts'
import type { Check, CheckResult } from './checks/check.ts'
import type { Clock } from './clock.ts'
import type { Log } from './log.ts'

export interface ScheduleDeps {
  readonly checks: Partial<Record<MonitorKind, Check>>
  readonly clock: Clock
  readonly log: Log
  /** The gateway's time, epoch milliseconds: stamps heartbeats. */
  now(): number
  report(heartbeat: Heartbeat): void
}

export interface Schedule {
  /** Takes the whole set of monitors: new ones start soon, changed ones start again, missing ones end. */
  update(monitors: readonly AgentMonitor[]): void
  /** Ends everything; a check that is running is not reported any more. */
  stop(): void
}

interface Entry {
  readonly monitor: AgentMonitor
  readonly check: Check
  readonly intervalMs: number
  /** From 0 up to 1, the same for this monitor on every day and every machine. */
  readonly place: number
  cancelTimer: () => void
  /** The running check; null between checks. */
  running: AbortController | null
  lastStatus: string | null
}

interface Plan {
  readonly deps: ScheduleDeps
  readonly entries: Map<string, Entry>
  /** Monitors that are due while too many checks are running. */
  readonly due: Entry[]
  readonly unknownKinds: Set<string>
  running: number
}

/** Beyond this checks would mostly measure how busy this machine is. */
const MOST_AT_ONCE = 100
/** New monitors begin within this, plus a little for each of them, so that a newcomer sees something soon. */
const BEGIN_WITHIN_MS = 1000
const BEGIN_MS_EACH = 25
/** A timer may ring a moment early; the slot it rang for must not be taken twice. */
const EARLY_MS = 50
/** A check that took this much longer than it may was interrupted by a sleep of this process; it says nothing. */
const SLEPT_MS = 5000

/** From 0 up to 1, evenly, although ids made in one moment are nearly alike. */
function placeOf(monitorId: string): number {
  return createHash('sha256').update(monitorId).digest().readUInt32BE() / 2 ** 32
}

/** Milliseconds from `now` to the monitor's next slot: whole intervals of the epoch plus its place. */
function untilNextSlot(now: number, { intervalMs, place }: Entry): number {
  const earliest = now + EARLY_MS
  const offset = place * intervalMs
  return Math.ceil((earliest - offset) / intervalMs) * intervalMs + offset - now
}

function ring(plan: Plan, entry: Entry, inMs: number): void {
  const { clock } = plan.deps
  const dueAt = clock.monotonic() + inMs
  entry.cancelTimer = clock.after(inMs, () => {
    // This process was asleep: checks of the past are not made up for, and not all at once.
    if (clock.monotonic() - dueAt > entry.intervalMs / 2) ring(plan, entry, untilNextSlot(plan.deps.now(), entry))
    else begin(plan, entry)
  })
}

function begin(plan: Plan, entry: Entry): void {
  if (plan.running >= MOST_AT_ONCE) {
    plan.due.push(entry)
    return
  }
  plan.running += 1
  void run(plan, entry).finally(() => {
    plan.running -= 1
    const next = plan.due.shift()
    if (next !== undefined) begin(plan, next)
  })
}

function isCurrent(plan: Plan, entry: Entry): boolean {
  return plan.entries.get(entry.monitor.monitorId) === entry
}

async function run(plan: Plan, entry: Entry): Promise<void> {
  if (!isCurrent(plan, entry)) return
  const { clock, log } = plan.deps
  const controller = new AbortController()
  entry.running = controller
  const timeoutMs = entry.monitor.timeoutSeconds * 1000
  const discardAfter = clock.monotonic() + timeoutMs + SLEPT_MS
  const cancelTimeout = clock.after(timeoutMs, () => controller.abort())
  try {
    const result = await entry.check(entry.monitor, controller.signal)
    if (isCurrent(plan, entry) && clock.monotonic() < discardAfter) tell(plan, entry, result)
  } catch (error) {
    // A check turns every fault of its target into `down`, so this is a fault of ours: it must not be reported as one.
    log.error({ err: error, monitorId: entry.monitor.monitorId }, 'A check failed to run.')
  } finally {
    cancelTimeout()
    entry.running = null
  }
  if (isCurrent(plan, entry)) ring(plan, entry, untilNextSlot(plan.deps.now(), entry))
}

function tell({ deps }: Plan, entry: Entry, { status, latency, message }: CheckResult): void {
  const { monitorId, name } = entry.monitor
  const why = message === undefined ? '' : `: ${message}`
  const sentence = `${name} is ${status} (${Math.round(latency)} ms)${why}`
  if (entry.lastStatus === status) deps.log.debug({ monitorId }, sentence)
  else deps.log.info({ monitorId }, sentence)
  entry.lastStatus = status
  const timestamp = formatTimestamp(deps.now())
  deps.report({ monitorId, status, latency, timestamp, ...(message !== undefined && { message }) })
}

function remove(plan: Plan, entry: Entry): void {
  plan.entries.delete(entry.monitor.monitorId)
  entry.cancelTimer()
  entry.running?.abort()
}

/** Names a kind that this agent cannot check, once; `heartbeat` is reported by others and not missed here. */
function tellUnknownKind({ deps, unknownKinds }: Plan, { kind, name }: AgentMonitor): void {
  if (kind === 'heartbeat' || unknownKinds.has(kind)) return
  unknownKinds.add(kind)
  deps.log.warn(
    { kind, monitor: name },
    `This agent does not run checks of kind ${kind} yet; such monitors are left out.`
  )
}

function sameCheck(a: AgentMonitor, b: AgentMonitor): boolean {
  return JSON.stringify({ ...a, name: '' }) === JSON.stringify({ ...b, name: '' })
}

function toEntry(monitor: AgentMonitor, check: Check, lastStatus: string | null): Entry {
  const intervalMs = Math.max(1, monitor.intervalSeconds) * 1000
  const place = placeOf(monitor.monitorId)
  return { monitor, check, intervalMs, place, cancelTimer: () => undefined, running: null, lastStatus }
}

function update(plan: Plan, monitors: readonly AgentMonitor[]): void {
  const ids = new Set(monitors.map((monitor) => monitor.monitorId))
  for (const entry of [...plan.entries.values()]) if (!ids.has(entry.monitor.monitorId)) remove(plan, entry)
  const withinMs = BEGIN_WITHIN_MS + BEGIN_MS_EACH * monitors.length
  for (const monitor of monitors) {
    const check = plan.deps.checks[monitor.kind]
    const old = plan.entries.get(monitor.monitorId)
    if (check === undefined) tellUnknownKind(plan, monitor)
    if (old !== undefined && check === old.check && sameCheck(old.monitor, monitor)) continue
    if (old !== undefined) remove(plan, old)
    if (check === undefined) continue
    const entry = toEntry(monitor, check, old?.lastStatus ?? null)
    plan.entries.set(monitor.monitorId, entry)
    ring(plan, entry, entry.place * Math.min(entry.intervalMs, withinMs))
  }
}

/** Runs each monitor's check at its interval, spread out, never two of one monitor at once. */
export function startSchedule(deps: ScheduleDeps): Schedule {
  const plan: Plan = { deps, entries: new Map(), due: [], unknownKinds: new Set(), running: 0 }
  return {
    update: (monitors) => update(plan, monitors),
    stop() {
      for (const entry of [...plan.entries.values()]) remove(plan, entry)
    }
  }
}
