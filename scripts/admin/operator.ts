import { type Change, publishChange } from '../../shared/changes.ts'
import type { Database, Queryable } from '../../shared/db.ts'
import type { Log } from '../../shared/log.ts'
import type { RedisConnection } from '../../shared/redis.ts'
import type { Secrets } from '../../shared/secrets.ts'
import { type AuditEntry, insertAudit } from '../../shared/store/audit.ts'

/** Who runs the installation, and what they work on. */
export interface Operator {
  /** As pulsegate_system. */
  db: Database
  redis: RedisConnection
  redisPrefix: string
  secrets: Secrets
  log: Log
  clock: () => number
  /** Of new organizations. */
  defaultPlan: string
  /** One line of the answer. */
  say(line: string): void
  /** One line for the operator that is no answer. */
  warn(line: string): void
}

/** What was asked for cannot be done; the message says why. Nothing was changed. */
export class Refusal extends Error {
  override name = 'Refusal'
}

/** Notes in the transaction of a change that the operator made it. */
export function auditOperator(
  tx: Queryable,
  entry: Pick<AuditEntry, 'organizationId' | 'action' | 'target' | 'details'>
): Promise<void> {
  return insertAudit(tx, { ...entry, actor: { kind: 'operator', id: null }, address: null, requestId: null })
}

/** Tells all processes of a change that is committed. */
export async function announce(operator: Operator, change: Exclude<Change, { type: 'resync' }>): Promise<void> {
  try {
    await publishChange(operator.redis.client, operator.redisPrefix, change)
  } catch (error) {
    const { message } = error as Error
    operator.warn(`It is done, but Redis could not be told (${message}): processes follow within half a minute.`)
  }
}

/** Lines of a table; the last column is not filled up. */
export function tableLines(rows: ReadonlyArray<readonly string[]>): string[] {
  const widths = rows[0]?.map((_, place) => Math.max(...rows.map((row) => row[place]?.length ?? 0))) ?? []
  return rows.map((row) =>
    row
      .map((cell, place) => cell.padEnd(widths[place] ?? 0))
      .join('  ')
      .trimEnd()
  )
}

export function timeOf(time: Date | null): string {
  return time === null ? 'never' : time.toISOString()
}
