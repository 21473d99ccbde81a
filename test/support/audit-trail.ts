import type { Stores } from './ingest.ts'
import { waitFor } from './wait-for.ts'

export interface AuditLine {
  organization_id: string
  actor_id: string | null
  details: Record<string, unknown>
}

/** What the trail tells of an action, oldest first, as soon as it tells `count` of it. */
export function auditOf(stores: Stores, action: string, count = 1): Promise<AuditLine[]> {
  return waitFor(async () => {
    const rows = await stores.db.query<AuditLine & { id: string }>(
      'select organization_id, actor_id, details from audit_log where action = $1 order by id',
      [action]
    )
    return rows.length >= count ? rows : null
  })
}
