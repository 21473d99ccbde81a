import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { MonitorKind } from '../shared/protocol/frames.ts'
import type { Check } from './checks/check.ts'
import { createHttpCheck } from './checks/http.ts'
import { checkTcp } from './checks/tcp.ts'
import { type Clock, systemClock } from './clock.ts'
import type { AgentConfig } from './config.ts'
import { startConnection } from './connection.ts'
import type { Log } from './log.ts'
import { createOutbox } from './outbox.ts'
import { startSchedule } from './schedule.ts'

export interface Agent {
  /** Connects anew with another key or address. Changed authorities count for the connection, not for running checks. */
  reconfigure(config: AgentConfig): void
  /** Stops the checks, sends what is left, waits at most 5 s for the acks. */
  stop(): Promise<void>
}

/** Heartbeats held while the gateway is away: a day of ten monitors at ten seconds. */
const CAPACITY = 100_000
const TELL_DROPS_EVERY_MS = 60_000
const STOP_MS = 5000
const LONGEST_NAME = 200

/** Says at most once a minute that heartbeats had to make room. */
function createDropNotice(clock: Clock, log: Log): (count: number) => void {
  let untold = 0
  let toldAt = Number.NEGATIVE_INFINITY
  return (count) => {
    untold += count
    if (clock.monotonic() - toldAt < TELL_DROPS_EVERY_MS) return
    log.warn({ heartbeats: untold }, `The outbox is full (${CAPACITY} heartbeats); the oldest are dropped.`)
    toldAt = clock.monotonic()
    untold = 0
  }
}

/** The checks that this agent can run. */
export function createChecks(ca: AgentConfig['ca'], version: string): Partial<Record<MonitorKind, Check>> {
  return { http: createHttpCheck({ ca, userAgent: `Pulsegate-Agent/${version}` }), tcp: checkTcp }
}

export function startAgent(config: AgentConfig, version: string, log: Log): Agent {
  const clock = systemClock
  const outbox = createOutbox({ stream: randomUUID(), capacity: CAPACITY, onDrop: createDropNotice(clock, log) })
  const connection = startConnection({
    settings: config,
    agent: { name: hostname().slice(0, LONGEST_NAME), version },
    outbox,
    clock,
    random: Math.random,
    log,
    onMonitors: (monitors) => schedule.update(monitors)
  })
  const schedule = startSchedule({
    checks: createChecks(config.ca, version),
    clock,
    log,
    now: connection.now,
    report(heartbeat) {
      outbox.add(heartbeat)
      connection.flush()
    }
  })
  return {
    reconfigure: (changed) => connection.reconfigure(changed),
    async stop() {
      schedule.stop()
      await connection.stop(STOP_MS)
    }
  }
}
