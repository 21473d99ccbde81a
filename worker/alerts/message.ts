import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import type { DueAlert } from '../../shared/store/outbox-queue.ts'

/** Monitors that a message about an agent names; `monitorCount` is how many there are. */
const NAMED = 100

interface LostMonitor {
  id: string
  name: string
}

function time(at: Date): string {
  return formatTimestamp(at.getTime())
}

function ofAgent(alert: DueAlert, monitors: readonly LostMonitor[]) {
  return {
    type: 'agent.presence_changed',
    agent: { id: alert.subject_id, name: alert.name },
    presence: alert.opens ? 'offline' : 'online',
    at: time(alert.at),
    ...(alert.opens ? { monitorCount: monitors.length, monitors: monitors.slice(0, NAMED) } : {})
  }
}

function incidentOf({ event, opens, at, began_at: beganAt }: DueAlert) {
  if (event !== 'down') return {}
  if (opens) return { incident: { from: time(at), to: null } }
  return beganAt === null ? {} : { incident: { from: time(beganAt), to: time(at) } }
}

function monitorOf(alert: DueAlert) {
  return {
    id: alert.subject_id,
    name: alert.name,
    kind: alert.kind,
    ...(alert.target === null ? {} : { target: alert.target }),
    tags: alert.tags ?? [],
    state: alert.to_state
  }
}

function ofMonitor(alert: DueAlert) {
  const monitor = monitorOf(alert)
  if (alert.event === 'pending') return { type: 'monitor.still_pending', monitor, since: time(alert.at) }
  return {
    type: 'monitor.state_changed',
    monitor,
    transition: { from: alert.from_state, to: alert.to_state, at: time(alert.at), reason: alert.reason },
    ...incidentOf(alert)
  }
}

/** What is posted: its type, and its body as JSON. `monitors`: those of an agent of which nothing is known. */
export function messageOf(alert: DueAlert, monitors: readonly LostMonitor[]): { type: string; body: string } {
  const message = alert.event === 'agent' ? ofAgent(alert, monitors) : ofMonitor(alert)
  return { type: message.type, body: JSON.stringify(message) }
}
