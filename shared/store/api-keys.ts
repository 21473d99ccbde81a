import type { Queryable } from '../db.ts'

export interface NewApiKey {
  id: string
  organizationId: string
  agentId: string
  digest: Buffer
  pepperVersion: number
  /** What may be shown of it later. */
  prefix: string
  suffix: string
}

export async function insertApiKey(db: Queryable, key: NewApiKey): Promise<void> {
  await db.query(
    `insert into api_keys (id, organization_id, agent_id, digest, pepper_version, prefix, suffix)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [key.id, key.organizationId, key.agentId, key.digest, key.pepperVersion, key.prefix, key.suffix]
  )
}

export interface ApiKeyRow {
  id: string
  prefix: string
  suffix: string
  created_at: Date
  last_used_at: Date | null
  revoked_at: Date | null
}

const SELECT = 'select id, prefix, suffix, created_at, last_used_at, revoked_at from api_keys'

/** Newest first: ids are UUIDv7. `after` is the id that the page before ended with. */
export function listApiKeys(
  db: Queryable,
  organizationId: string,
  agentId: string,
  page: { after: string | null; limit: number }
): Promise<ApiKeyRow[]> {
  return db.query<ApiKeyRow>(
    `${SELECT} where organization_id = $1 and agent_id = $2 and ($3::uuid is null or id < $3) order by id desc limit $4`,
    [organizationId, agentId, page.after, page.limit]
  )
}

export async function findApiKeyById(
  db: Queryable,
  organizationId: string,
  agentId: string,
  id: string
): Promise<ApiKeyRow | undefined> {
  const [row] = await db.query<ApiKeyRow>(`${SELECT} where organization_id = $1 and agent_id = $2 and id = $3`, [
    organizationId,
    agentId,
    id
  ])
  return row
}

/** A key with whom it is of, as the operator sees it. */
export interface HeldApiKeyRow extends ApiKeyRow {
  organization_id: string
  agent_id: string
  agent_name: string
}

const HELD = `select k.id, k.prefix, k.suffix, k.created_at, k.last_used_at, k.revoked_at, k.organization_id, k.agent_id,
    a.name as agent_name
  from api_keys k join agents a on a.id = k.agent_id and a.organization_id = k.organization_id`

/** Of all agents and services of an organization, newest first. */
export function listHeldApiKeys(db: Queryable, organizationId: string): Promise<HeldApiKeyRow[]> {
  return db.query<HeldApiKeyRow>(`${HELD} where k.organization_id = $1 order by k.id desc`, [organizationId])
}

/** System-wide: the operator names a key by its id alone. */
export async function findHeldApiKey(db: Queryable, id: string): Promise<HeldApiKeyRow | undefined> {
  const [row] = await db.query<HeldApiKeyRow>(`${HELD} where k.id = $1`, [id])
  return row
}

/** How many keys of the agent are not revoked; exact only while its row is locked. */
export async function countActiveKeys(db: Queryable, organizationId: string, agentId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    'select count(*) from api_keys where organization_id = $1 and agent_id = $2 and revoked_at is null',
    [organizationId, agentId]
  )
  return row?.count ?? 0
}

/** Returns whether it was not yet revoked. */
export async function revokeApiKey(db: Queryable, organizationId: string, id: string): Promise<boolean> {
  const rows = await db.query(
    'update api_keys set revoked_at = now() where organization_id = $1 and id = $2 and revoked_at is null returning id',
    [organizationId, id]
  )
  return rows.length > 0
}

/** Revokes every key of the agent that is not yet revoked. Returns their ids. */
export async function revokeApiKeys(db: Queryable, organizationId: string, agentId: string): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `update api_keys set revoked_at = now()
     where organization_id = $1 and agent_id = $2 and revoked_at is null
     returning id`,
    [organizationId, agentId]
  )
  return rows.map((row) => row.id)
}

/** A key that was used. */
export interface UsedKey {
  keyId: string
  /** Epoch ms. */
  at: number
}

/** System-wide: these keys were used, whosever they are. */
export async function noteApiKeysUsed(db: Queryable, uses: readonly UsedKey[]): Promise<void> {
  await db.query('select note_api_keys_used($1, $2)', [
    uses.map(({ keyId }) => keyId),
    uses.map(({ at }) => new Date(at))
  ])
}
