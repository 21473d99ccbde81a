import type { HeartbeatStatus } from '../../shared/protocol/heartbeat.ts'

/** One heartbeat as an agent sent it. */
export interface SentHeartbeat {
  monitorId: string
  sourceId: string
  /** Epoch ms. */
  timestamp: number
  status: HeartbeatStatus
  latency: number
  acked: boolean
}

/** What agents did and were promised, kept outside of everything that is being killed. */
export interface Journal {
  /** By identity; written before the heartbeat is sent. */
  readonly sent: Map<string, SentHeartbeat>
  /** How many of them were acknowledged. */
  acked: number
  /** What no gateway may ever do to an honest agent. */
  readonly broken: string[]
}

/** (monitor, source, timestamp): the only identity of a heartbeat. */
export function identityOf(heartbeat: { monitorId: string; sourceId: string; timestamp: number }): string {
  return `${heartbeat.monitorId} ${heartbeat.sourceId} ${heartbeat.timestamp}`
}

export function createJournal(): Journal {
  return { sent: new Map(), acked: 0, broken: [] }
}
