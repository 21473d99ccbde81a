import { formatTimestamp, parseTimestamp } from '../../shared/protocol/timestamp.ts'
import { type AuditRow, listAudit } from '../../shared/store/audit.ts'
import type { Handlers } from '../http/contract.ts'
import { cutPage, readCursor, UUID_CURSOR, writeCursor } from '../http/cursor.ts'
import type { Parts } from '../parts.ts'

function toEntry(row: AuditRow) {
  const { target_kind: kind, target_id: id, target_name: name } = row
  return {
    id: row.id,
    at: formatTimestamp(row.at.getTime()),
    actor: { kind: row.actor_kind, id: row.actor_id, name: row.actor_name },
    action: row.action,
    target: kind === null || id === null ? null : { kind, id, name },
    details: row.details,
    address: row.address
  }
}

function toDate(text: string | undefined): Date | null {
  return text === undefined ? null : new Date(parseTimestamp(text))
}

export function createAuditHandlers({ db }: Parts): Pick<Handlers, 'listAudit'> {
  return {
    listAudit: async ({ principal: { organizationId }, query }) => {
      const [after = null] = readCursor(query.cursor, UUID_CURSOR) ?? []
      const { action = null, actorId = null, targetId = null, limit } = query
      const window = { from: toDate(query.from), to: toDate(query.to) }
      const filter = { organizationId, action, actorId, targetId, ...window, after, limit: limit + 1 }
      const rows = await db.tenant(organizationId, (tx) => listAudit(tx, filter))
      const { page, nextCursor } = cutPage(rows, limit, (last) => writeCursor(last.id))
      return { status: 200, body: { data: page.map(toEntry), nextCursor } }
    }
  }
}
