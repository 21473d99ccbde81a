import { v7 as uuidv7 } from 'uuid'
import type { MonitorAnswer } from '../../shared/contract/monitors.ts'
import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { randomBase62 } from '../../shared/identity/api-key.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import { expectedAfter } from '../../shared/schedule/deadline.ts'
import { type ActiveMaintenance, listActiveMaintenance } from '../../shared/store/maintenance.ts'
import { findMonitor, type MonitorRow } from '../../shared/store/monitors.ts'
import { insertPushUrl, pushContext } from '../../shared/store/push-urls.ts'
import { announceChanges } from '../http/announce-change.ts'
import type { Principal } from '../http/authenticate.ts'
import type { Addresses, Parts } from '../parts.ts'

const TOKEN_LENGTH = 32

/** A monitor in the audit trail. */
export function targetOf({ id, name }: { id: string; name: string }) {
  return { kind: 'monitor', id, name }
}

/** A key sees its own set only. */
function maySee(principal: Principal, monitorId: string): boolean {
  return principal.kind === 'user' || principal.caller.monitors.has(monitorId)
}

/** A monitor with what else is told of it. */
export interface ShownRow extends MonitorRow {
  maintenance: ActiveMaintenance | null
}

export interface Tools {
  /** `withSlots`: with what is dear to find (`expectedAt` by a schedule). */
  toMonitor(row: ShownRow, principal: Principal, withSlots?: boolean): MonitorAnswer
  givePushUrl(tx: Queryable, organizationId: string, monitorId: string, monitorKey: number): Promise<void>
}

/** The monitors with the maintenance that holds of each now (epoch ms); of several the one that ends last. */
export async function withMaintenance(
  tx: Queryable,
  organizationId: string,
  rows: readonly MonitorRow[],
  now: number
): Promise<ShownRow[]> {
  const active = await listActiveMaintenance(tx, organizationId, now)
  const byId = new Map(active.flatMap((window) => window.monitor_ids.map((id) => [id, window])))
  const byTag = new Map(active.flatMap((window) => window.tags.map((tag) => [tag, window])))
  return rows.map((row) => {
    const own = [byId.get(row.id), ...row.tags.map((tag) => byTag.get(tag))].filter((one) => one !== undefined)
    return { ...row, maintenance: own.reduce<ActiveMaintenance | null>(laterOf, null) }
  })
}

function laterOf(a: ActiveMaintenance | null, b: ActiveMaintenance): ActiveMaintenance {
  return a !== null && a.until >= b.until ? a : b
}

/** The monitor as this caller may see it now (epoch ms). @throws AppError not_found */
export async function read(tx: Queryable, principal: Principal, id: string, now: number): Promise<ShownRow> {
  const { organizationId } = principal
  const row = maySee(principal, id) ? await findMonitor(tx, organizationId, id) : undefined
  const [shown] = row === undefined ? [] : await withMaintenance(tx, organizationId, [row], now)
  if (shown === undefined) throw new AppError('not_found')
  return shown
}

/** Keys cannot read maintenance, so what people call it is not for them. */
function maintenanceFor({ maintenance }: ShownRow, principal: Principal): MonitorAnswer['maintenance'] {
  if (maintenance === null) return null
  const until = formatTimestamp(maintenance.until)
  return principal.kind === 'key' ? { until } : { title: maintenance.title, until }
}

/** Slots of a schedule are dear to find, so a list leaves them out. */
function expectedAt(row: MonitorRow, withSlots: boolean): string | null {
  if (row.last_received_at === null || row.state === 'paused' || (row.schedule !== null && !withSlots)) return null
  const { interval_seconds: intervalSeconds, grace_seconds: graceSeconds, schedule, timezone } = row
  const from = Math.max(row.last_received_at.getTime(), row.counted_from?.getTime() ?? 0)
  return formatTimestamp(expectedAfter({ intervalSeconds, graceSeconds, schedule, timezone }, from))
}

export function createTools({ secrets }: Parts, { apiUrl }: Addresses): Tools {
  /** The push URL is a secret that lets its holder report, so a key never sees it. */
  function pushUrlOf(row: MonitorRow, principal: Principal): { pushUrl?: string } {
    if (row.token_sealed === null || principal.kind === 'key') return {}
    return { pushUrl: `${apiUrl}/push/${secrets.open(row.token_sealed, pushContext(row.id))}` }
  }

  function toMonitor(row: ShownRow, principal: Principal, withSlots = false): MonitorAnswer {
    return {
      id: row.id,
      name: row.name,
      kind: row.kind,
      ...(row.target === null ? {} : { target: row.target }),
      intervalSeconds: row.interval_seconds,
      schedule: row.schedule,
      timezone: row.timezone,
      confirmations: row.confirmations,
      recoveries: row.recoveries,
      quorum: row.quorum,
      maxRuntimeSeconds: row.max_runtime_seconds,
      resumeOnPing: row.resume_on_ping,
      agentIsTarget: row.agent_is_target,
      graceSeconds: row.grace_seconds,
      timeoutSeconds: row.timeout_seconds,
      settings: row.settings,
      tags: row.tags,
      parentIds: row.parent_ids.filter((id) => maySee(principal, id)),
      state: row.state,
      stateReason: row.state_reason,
      stateSince: formatTimestamp(row.state_since.getTime()),
      maintenance: maintenanceFor(row, principal),
      observed: row.observed,
      running: row.running,
      lastHeartbeatAt: row.last_heartbeat_at === null ? null : formatTimestamp(row.last_heartbeat_at.getTime()),
      expectedAt: expectedAt(row, withSlots),
      createdAt: formatTimestamp(row.created_at.getTime()),
      ...pushUrlOf(row, principal)
    }
  }

  async function givePushUrl(
    tx: Queryable,
    organizationId: string,
    monitorId: string,
    monitorKey: number
  ): Promise<void> {
    const token = randomBase62(TOKEN_LENGTH)
    await insertPushUrl(tx, {
      id: uuidv7(),
      organizationId,
      monitorKey,
      tokenDigest: secrets.digest(token),
      tokenSealed: secrets.seal(token, pushContext(monitorId)),
      pepperVersion: secrets.version
    })
  }

  return { toMonitor, givePushUrl }
}

/** Tells gateways that the monitors of the organization changed. */
export function announce(parts: Parts, organizationId: string): Promise<void> {
  return announceChanges(parts, [{ type: 'organization_changed', organizationId }])
}
