import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { type Connection, type ConnectionState, startConnection } from '../../agent/connection.ts'
import { createOutbox, type Outbox } from '../../agent/outbox.ts'
import type { AgentMonitor } from '../../shared/protocol/frames.ts'
import type { Heartbeat } from '../../shared/protocol/heartbeat.ts'
import { type GatewayPeer, startGatewayPeer } from './gateway-peer.ts'
import { createManualClock, type ManualClock } from './manual-clock.ts'

export interface LogLine {
  level: 'debug' | 'info' | 'warn' | 'error'
  fields: Record<string, unknown>
  message: string
}

export interface ConnectedAgent {
  readonly peer: GatewayPeer
  readonly clock: ManualClock
  readonly outbox: Outbox
  readonly connection: Connection
  readonly lines: LogLine[]
  /** Every set of monitors that the gateway sent. */
  readonly monitors: AgentMonitor[][]
  /** Adds heartbeats to the outbox and tells the connection. */
  report(...heartbeats: Heartbeat[]): void
  /** Resolves as soon as the connection is in this state. */
  reaches(state: ConnectionState): Promise<void>
}

const API_KEY = `pga_${'k'.repeat(38)}`

/** The same heartbeat with another latency, so that tests can tell them apart. */
export function heartbeat(latency: number, message?: string): Heartbeat {
  const monitorId = '00000000-0000-7000-8000-000000000001'
  const timestamp = '2026-11-21T10:00:00.000Z'
  return { monitorId, status: 'up', latency, timestamp, ...(message !== undefined && { message }) }
}

/** A log that a test can read. */
export function createListLog() {
  const lines: LogLine[] = []
  const at = (level: LogLine['level']) => (fields: object, message: string) =>
    void lines.push({ level, fields: { ...fields }, message })
  return { lines, log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } }
}

/** An agent's connection on a clock that the test moves, with a gateway peer for it; both end with the test. */
export async function startConnectedAgent(
  t: Test,
  options: { random?: () => number; capacity?: number } = {}
): Promise<ConnectedAgent> {
  const peer = await startGatewayPeer()
  const clock = createManualClock()
  const outbox = createOutbox({ stream: randomUUID(), capacity: options.capacity ?? 100_000 })
  const { lines, log } = createListLog()
  const monitors: AgentMonitor[][] = []
  const waiters = new Set<{ state: ConnectionState; resolve: () => void }>()
  const connection = startConnection({
    settings: { ingestUrl: peer.url, apiKey: API_KEY },
    agent: { name: 'test', version: '0.0.0' },
    outbox,
    clock,
    random: options.random ?? (() => 0.5),
    log,
    onMonitors: (set) => monitors.push(set),
    onState(state) {
      for (const waiter of waiters) if (waiter.state === state) waiter.resolve()
    }
  })
  t.teardown(async () => {
    await peer.stop()
    const stopped = connection.stop(0)
    clock.advance(5000)
    await stopped
  })
  return {
    peer,
    clock,
    outbox,
    connection,
    lines,
    monitors,
    report(...heartbeats) {
      for (const one of heartbeats) outbox.add(one)
      connection.flush()
    },
    reaches(state) {
      if (connection.state() === state) return Promise.resolve()
      return new Promise((resolve) => waiters.add({ state, resolve }))
    }
  }
}
