import type { Queryable } from '../db.ts'
import type { Outcome } from '../webhooks/send.ts'

export interface DeliveryRow {
  id: string
  type: string
  body: string
  status: 'waiting' | 'delivered' | 'failed'
  attempts: number
  next_at: Date
  last_attempt_at: Date | null
  status_code: number | null
  error: string | null
  response: string | null
  created_at: Date
}

export interface NewDelivery {
  id: string
  organizationId: string
  channelId: string
  /** Null: a test. */
  outboxId: string | null
  type: string
  body: string
}

const COLUMNS = 'id, type, body, status, attempts, next_at, last_attempt_at, status_code, error, response, created_at'

/** Newest first: ids are UUIDv7. */
export function listDeliveries(
  db: Queryable,
  organizationId: string,
  channelId: string,
  after: string | null,
  limit: number
): Promise<DeliveryRow[]> {
  return db.query<DeliveryRow>(
    `select ${COLUMNS} from alert_deliveries
     where organization_id = $1 and channel_id = $2 and ($3::uuid is null or id < $3) order by id desc limit $4`,
    [organizationId, channelId, after, limit]
  )
}

/** Puts a message back among those that wait; due at once. */
export async function resendDelivery(
  db: Queryable,
  { organizationId, channelId, id }: { organizationId: string; channelId: string; id: string },
  at: Date
): Promise<DeliveryRow | undefined> {
  const [row] = await db.query<DeliveryRow>(
    `update alert_deliveries set status = 'waiting', next_at = $4
     where organization_id = $1 and channel_id = $2 and id = $3 returning ${COLUMNS}`,
    [organizationId, channelId, id, at]
  )
  return row
}

/** Waiting for their first try; one that is there already stays as it is. */
export async function insertDeliveries(db: Queryable, deliveries: readonly NewDelivery[], at: Date): Promise<void> {
  await db.query(
    `insert into alert_deliveries (id, organization_id, channel_id, outbox_id, type, body, status, next_at, created_at)
     select id, organization_id, channel_id, outbox_id, type, body, 'waiting', $2, $2
     from jsonb_to_recordset($1::jsonb) as d (id uuid, organization_id uuid, channel_id uuid, outbox_id uuid, type text, body text)
     on conflict (outbox_id, channel_id) do nothing`,
    [
      JSON.stringify(
        deliveries.map(({ id, organizationId, channelId, outboxId, type, body }) => ({
          id,
          organization_id: organizationId,
          channel_id: channelId,
          outbox_id: outboxId,
          type,
          body
        }))
      ),
      at
    ]
  )
}

/** A test with its outcome: it is never tried again. */
export async function insertTest(
  db: Queryable,
  delivery: Omit<NewDelivery, 'outboxId'>,
  outcome: Outcome,
  at: Date
): Promise<void> {
  await db.query(
    `insert into alert_deliveries (id, organization_id, channel_id, type, body, status, attempts, next_at, last_attempt_at,
       status_code, error, response, created_at)
     values ($1, $2, $3, $4, $5, $6, 1, $7, $7, $8, $9, $10, $7)`,
    [
      delivery.id,
      delivery.organizationId,
      delivery.channelId,
      delivery.type,
      delivery.body,
      outcome.delivered ? 'delivered' : 'failed',
      at,
      outcome.statusCode,
      outcome.error,
      outcome.response
    ]
  )
}

/** A delivery that this process has taken upon itself. */
export interface ClaimedDelivery {
  id: string
  organization_id: string
  channel_id: string
  body: string
  /** This try included. */
  attempts: number
  created_at: Date
  url: string
  secret_sealed: Buffer
}

/**
 * System-wide: takes the oldest due delivery of each channel that is not busy here, at most `limit`. Who takes one has until
 * `leaseUntil` to say how it went; then another process tries again. Channels that are switched off wait.
 */
export function claimDeliveries(
  db: Queryable,
  { now, leaseUntil, busy, limit }: { now: Date; leaseUntil: Date; busy: readonly string[]; limit: number }
): Promise<ClaimedDelivery[]> {
  return db.query<ClaimedDelivery>(
    `with ranked as (
       select d.id, d.next_at, row_number() over (partition by d.channel_id order by d.next_at, d.id) as place
       from alert_deliveries d join alert_channels c on c.id = d.channel_id
       where d.status = 'waiting' and d.next_at <= $1 and c.enabled and d.channel_id <> all ($3::uuid[])
     ), first as (
       select id from ranked where place = 1 order by next_at limit $4
     )
     update alert_deliveries d set attempts = d.attempts + 1, next_at = $2, last_attempt_at = $1
     from first, alert_channels c
     where d.id = first.id and c.id = d.channel_id and d.status = 'waiting' and d.next_at <= $1
     returning d.id, d.organization_id, d.channel_id, d.body, d.attempts, d.created_at, c.url, c.secret_sealed`,
    [now, leaseUntil, busy, limit]
  )
}

/** System-wide: how a try went. `again`: when the next one is, or null. */
export async function settleDelivery(
  db: Queryable,
  id: string,
  { delivered, statusCode, error, response }: Outcome,
  again: Date | null
): Promise<void> {
  const status = delivered ? 'delivered' : again === null ? 'failed' : 'waiting'
  await db.query(
    `update alert_deliveries
     set status = $2, status_code = $3, error = $4, response = $5, next_at = coalesce($6, next_at)
     where id = $1 and status = 'waiting'`,
    [id, status, statusCode, error, response, again]
  )
}

/** System-wide: the try was cut off by our own stop. */
export async function returnDelivery(db: Queryable, id: string, at: Date): Promise<void> {
  await db.query(
    "update alert_deliveries set next_at = $2, attempts = attempts - 1 where id = $1 and status = 'waiting'",
    [id, at]
  )
}

/** System-wide. Returns how many went, at most `limit`. */
export async function deleteOldDeliveries(db: Queryable, before: Date, limit: number): Promise<number> {
  const rows = await db.query(
    `delete from alert_deliveries where id in (select id from alert_deliveries where created_at < $1 limit $2) returning id`,
    [before, limit]
  )
  return rows.length
}
