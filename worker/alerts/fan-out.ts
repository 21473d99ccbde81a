import { v7 as uuidv7 } from 'uuid'
import type { Database, Transaction } from '../../shared/db.ts'
import { listTellingChannels } from '../../shared/store/channels.ts'
import { insertDeliveries, type NewDelivery } from '../../shared/store/deliveries.ts'
import { findMaintenanceEnds } from '../../shared/store/maintenance.ts'
import { findMutedByParents } from '../../shared/store/monitor-parents.ts'
import {
  type Decision,
  type DueAlert,
  decideAlerts,
  listLostMonitors,
  lockDueAlerts
} from '../../shared/store/outbox-queue.ts'
import { messageOf } from './message.ts'

/** Rows of one transaction. */
const AT_ONCE = 200
/** A held outage of which nothing is known now is looked at again so much later, in milliseconds. */
const UNKNOWN_MS = 60_000

interface Circumstances {
  now: Date
  maintenance: ReadonlyMap<number, number>
  muted: ReadonlySet<number>
}

/** What was held is decided anew. */
function decide(alert: DueAlert, { now, maintenance, muted }: Circumstances): Decision {
  const { id, monitor_key: key } = alert
  const told = { id, status: 'told', cause: alert.cause, dueAt: now } as const
  if (alert.ended_at !== null && alert.status === 'held') return { ...told, status: 'dropped', cause: 'recovered' }
  if (alert.status === 'due' || key === null) return told
  if (alert.state === 'unknown') return { ...told, status: 'held', dueAt: new Date(now.getTime() + UNKNOWN_MS) }
  if (alert.state !== 'down') return { ...told, status: 'dropped', cause: 'recovered' }
  const end = maintenance.get(key)
  if (end !== undefined) return { ...told, status: 'held', cause: 'maintenance', dueAt: new Date(end) }
  return muted.has(key) ? { ...told, status: 'muted', cause: 'parent_down' } : told
}

async function circumstancesOf(tx: Transaction, alerts: readonly DueAlert[], now: Date): Promise<Circumstances> {
  const held = alerts.flatMap(({ status, monitor_key: key }) => (status === 'held' && key !== null ? [key] : []))
  return {
    now,
    maintenance: await findMaintenanceEnds(tx, new Map(held.map((key) => [key, now.getTime()]))),
    muted: await findMutedByParents(tx, held)
  }
}

async function deliveriesOf(tx: Transaction, alerts: readonly DueAlert[]): Promise<NewDelivery[]> {
  if (alerts.length === 0) return []
  const channels = await listTellingChannels(tx, [...new Set(alerts.map((alert) => alert.organization_id))])
  const agentIds = alerts.flatMap(({ agent_id: id, opens }) => (id !== null && opens ? [id] : []))
  const lost = agentIds.length === 0 ? [] : await listLostMonitors(tx, agentIds)
  return alerts.flatMap((alert) => {
    const monitors = lost.filter(({ agent_id }) => agent_id === alert.agent_id).map(({ id, name }) => ({ id, name }))
    const message = messageOf(alert, monitors)
    return channels
      .filter((channel) => channel.organization_id === alert.organization_id && channel.events.includes(alert.event))
      .map((channel) => ({
        id: uuidv7(),
        organizationId: alert.organization_id,
        channelId: channel.id,
        outboxId: alert.id,
        ...message
      }))
  })
}

/**
 * Hands what is due to the channels, in one transaction; any number of workers, each row once. Resolves to the number of
 * rows that were looked at.
 */
export function fanOut(db: Database, now: Date): Promise<number> {
  return db.transaction(async (tx) => {
    const alerts = await lockDueAlerts(tx, now, AT_ONCE)
    if (alerts.length === 0) return 0
    const circumstances = await circumstancesOf(tx, alerts, now)
    const decisions = alerts.map((alert) => decide(alert, circumstances))
    const told = alerts.filter((_, i) => decisions[i]?.status === 'told')
    const deliveries = await deliveriesOf(tx, told)
    if (deliveries.length > 0) await insertDeliveries(tx, deliveries, now)
    await decideAlerts(tx, decisions)
    return alerts.length
  })
}
