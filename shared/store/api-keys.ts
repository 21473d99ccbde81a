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
