import type { AuditAction } from '../../shared/contract/audit.ts'
import type { Queryable } from '../../shared/db.ts'
import { type AuditEntry, insertAudit } from '../../shared/store/audit.ts'
import type { Principal } from './authenticate.ts'

/** The part of a `Call` that tells who asks from where. */
interface Asked {
  principal: Principal
  address: string
  requestId: string
}

/** Notes in the transaction of a change that whoever calls made it. */
export function audit(
  tx: Queryable,
  { principal, address, requestId }: Asked,
  action: AuditAction,
  what: Pick<AuditEntry, 'target' | 'details'> = {}
): Promise<void> {
  const actor =
    principal.kind === 'user'
      ? ({ kind: 'user', id: principal.userId } as const)
      : ({ kind: 'key', id: principal.caller.sourceId } as const)
  return insertAudit(tx, { organizationId: principal.organizationId, actor, action, ...what, address, requestId })
}
