import type { Queryable } from '../db.ts'

interface MonitorName {
  key: number
  id: string
  organization_id: string
}

/** System-wide: the public ids of these organizations' monitors with a greater key. */
export function listMonitorNamesOf(
  db: Queryable,
  organizationIds: readonly string[],
  afterKey: number
): Promise<MonitorName[]> {
  return db.query<MonitorName>(
    'select key, id, organization_id from monitors where organization_id = any ($1::uuid[]) and key > $2',
    [organizationIds, afterKey]
  )
}

/** System-wide: the public ids of these monitors. */
export function listMonitorNames(db: Queryable, keys: readonly number[]): Promise<MonitorName[]> {
  return db.query<MonitorName>('select key, id, organization_id from monitors where key = any ($1::bigint[])', [keys])
}
