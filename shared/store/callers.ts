import type { Queryable } from '../db.ts'

/** One row says all that the ingest door asks of an API key. */
export interface ApiKeyRow {
  key_id: string
  agent_id: string
  kind: 'agent' | 'service'
  organization_id: string
  plan: string
  suspended: boolean
  scopes: string[]
  monitor_ids: string[]
  monitor_keys: number[]
}

export interface PushUrlRow {
  push_url_id: string
  organization_id: string
  plan: string
  suspended: boolean
  monitor_id: string
  monitor_key: number
}

/**
 * The columns by name: a connection keeps the plans of these look-ups, and one whose columns changed under it (a newer
 * migration) is refused from then on.
 */
const API_KEY = `
  select key_id, agent_id, kind, organization_id, plan, suspended, scopes, monitor_ids, monitor_keys
  from find_api_key($1)`
const PUSH_URL = `
  select push_url_id, organization_id, plan, suspended, monitor_id, monitor_key from find_push_url($1)`

/** System-wide: before the look-up no tenant is known. Revoked keys are not found. */
export async function findApiKey(db: Queryable, digest: Buffer): Promise<ApiKeyRow | undefined> {
  const [row] = await db.query<ApiKeyRow>(API_KEY, [digest], 'find_api_key')
  return row
}

/** System-wide: before the look-up no tenant is known. */
export async function findPushUrl(db: Queryable, digest: Buffer): Promise<PushUrlRow | undefined> {
  const [row] = await db.query<PushUrlRow>(PUSH_URL, [digest], 'find_push_url')
  return row
}

/** Every monitor of the tenant of this transaction, as ids with their keys. */
export async function listMonitorKeys(
  db: Queryable,
  organizationId: string
): Promise<Array<[id: string, key: number]>> {
  const rows = await db.query<{ id: string; key: number }>(
    'select id, key from monitors where organization_id = $1 order by key',
    [organizationId]
  )
  return rows.map((row) => [row.id, row.key])
}
