import type { TearsDown } from './database.ts'
import { type GatewayOptions, gatewayFor, openStores, type Stores, type TestGateway } from './ingest.ts'
import { createTenant, type Tenant, type TestAgent } from './tenant.ts'

export interface GatewayTenant {
  stores: Stores
  tenant: Tenant
  monitorId: string
  agent: TestAgent
  gateway: TestGateway
}

/** A gateway, and an organization with one monitor and one agent that may report it. */
export async function gatewayTenantFor(t: TearsDown, options: GatewayOptions = {}): Promise<GatewayTenant> {
  const stores = await openStores(t)
  const tenant = await createTenant(stores.db, stores.secrets)
  const monitorId = await tenant.addMonitor()
  const agent = await tenant.addAgent([monitorId])
  return { stores, tenant, monitorId, agent, gateway: await gatewayFor(t, stores, options) }
}

let last = 0

/** A good heartbeat with a timestamp of its own. */
export function heartbeatOf(monitorId: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  last = Math.max(Date.now(), last + 1)
  return { monitorId, status: 'up', latency: 1, timestamp: new Date(last).toISOString(), ...fields }
}

export interface HistoryRow {
  status: number
  latency: number | null
  timestamp: Date
  received_at: Date
  source_id: string
  message: string | null
}

/** Every row of a monitor, oldest first. */
export function historyOf(stores: Stores, monitorId: string): Promise<HistoryRow[]> {
  return stores.db.query<HistoryRow>(
    `select h.status, h.latency, h."timestamp", h.received_at, h.source_id, h.message
     from heartbeats h join monitors m on m.key = h.monitor_key where m.id = $1 order by h."timestamp"`,
    [monitorId]
  )
}
