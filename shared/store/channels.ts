import type { ChannelEvent } from '../contract/alerts.ts'
import type { Queryable } from '../db.ts'

export interface ChannelRow {
  id: string
  kind: 'webhook'
  name: string
  url: string
  secret_sealed: Buffer
  events: ChannelEvent[]
  enabled: boolean
  created_at: Date
}

/** With what its deliveries tell. */
export interface SeenChannelRow extends ChannelRow {
  /** When the first of the messages was made that it has not taken since the last one that it took. */
  failing_since: Date | null
}

const COLUMNS = 'id, kind, name, url, secret_sealed, events, enabled, created_at'
/** Both look-ups stay within the channel's part of the index on (channel_id, id). */
const SEEN = `select ${COLUMNS}, (
    select min(d.created_at) from alert_deliveries d
    where d.channel_id = c.id and d.status <> 'delivered' and d.error is not null and d.last_attempt_at > coalesce((
      select max(taken.last_attempt_at) from alert_deliveries taken
      where taken.channel_id = c.id and taken.status = 'delivered'), '-infinity')
  ) as failing_since
  from alert_channels c`

/** What a secret is sealed for. */
export function channelContext(channelId: string): string {
  return `alert-channel/${channelId}`
}

/** Newest first: ids are UUIDv7. */
export function listChannels(
  db: Queryable,
  organizationId: string,
  after: string | null,
  limit: number
): Promise<SeenChannelRow[]> {
  return db.query<SeenChannelRow>(
    `${SEEN}
     where organization_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3`,
    [organizationId, after, limit]
  )
}

export async function findChannel(
  db: Queryable,
  organizationId: string,
  id: string
): Promise<SeenChannelRow | undefined> {
  const [row] = await db.query<SeenChannelRow>(`${SEEN} where organization_id = $1 and id = $2`, [organizationId, id])
  return row
}

/** Nobody else changes it until this transaction ends. */
export async function lockChannel(db: Queryable, organizationId: string, id: string): Promise<ChannelRow | undefined> {
  const [row] = await db.query<ChannelRow>(
    `select ${COLUMNS} from alert_channels where organization_id = $1 and id = $2 for no key update`,
    [organizationId, id]
  )
  return row
}

export async function countChannels(db: Queryable, organizationId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>('select count(*) from alert_channels where organization_id = $1', [
    organizationId
  ])
  return row?.count ?? 0
}

export async function insertChannel(
  db: Queryable,
  organizationId: string,
  channel: Pick<ChannelRow, 'id' | 'kind' | 'name' | 'url' | 'secret_sealed' | 'events'>
): Promise<void> {
  const { id, kind, name, url, secret_sealed: secretSealed, events } = channel
  await db.query(
    `insert into alert_channels (id, organization_id, kind, name, url, secret_sealed, events)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [id, organizationId, kind, name, url, secretSealed, events]
  )
}

export async function updateChannel(
  db: Queryable,
  organizationId: string,
  channel: Pick<ChannelRow, 'id' | 'name' | 'url' | 'events' | 'enabled'>
): Promise<void> {
  const { id, name, url, events, enabled } = channel
  await db.query(
    'update alert_channels set name = $3, url = $4, events = $5, enabled = $6 where organization_id = $1 and id = $2',
    [organizationId, id, name, url, events, enabled]
  )
}

export async function replaceChannelSecret(
  db: Queryable,
  organizationId: string,
  id: string,
  sealed: Buffer
): Promise<void> {
  await db.query('update alert_channels set secret_sealed = $3 where organization_id = $1 and id = $2', [
    organizationId,
    id,
    sealed
  ])
}

export async function deleteChannel(db: Queryable, organizationId: string, id: string): Promise<void> {
  await db.query('delete from alert_channels where organization_id = $1 and id = $2', [organizationId, id])
}

/** System-wide: the channels that are told of things in these organizations. */
export function listTellingChannels(
  db: Queryable,
  organizationIds: readonly string[]
): Promise<Array<{ id: string; organization_id: string; events: ChannelEvent[] }>> {
  return db.query(
    'select id, organization_id, events from alert_channels where organization_id = any ($1::uuid[]) and enabled order by id',
    [organizationIds]
  )
}

/** System-wide: the sealed secret of every channel; nobody changes them until this transaction ends. */
export function lockChannelSecrets(
  tx: Queryable
): Promise<Array<Pick<ChannelRow, 'id' | 'secret_sealed'> & { organization_id: string }>> {
  return tx.query('select id, organization_id, secret_sealed from alert_channels order by id for update')
}
