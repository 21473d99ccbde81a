import { v7 as uuidv7 } from 'uuid'
import type { Database } from '../../shared/db.ts'
import { mintApiKey, partsToShow, randomBase62 } from '../../shared/identity/api-key.ts'
import type { Secrets } from '../../shared/secrets.ts'

/** An organization put straight into the tables, for tests of what stands below the API. */
export interface Tenant {
  organizationId: string
  /** Adds a monitor; returns its public id. */
  addMonitor(options?: { kind?: string; intervalSeconds?: number; graceSeconds?: number }): Promise<string>
  /** Adds an agent or service with a key for these monitors. */
  addAgent(monitorIds: string[], options?: { kind?: 'agent' | 'service'; scopes?: string[] }): Promise<TestAgent>
  /** Adds a push URL to a monitor; returns its token. */
  addPushUrl(monitorId: string): Promise<string>
}

export interface TestAgent {
  id: string
  apiKey: string
  keyId: string
}

/** `db` runs as pulsegate_system. */
export async function createTenant(db: Database, secrets: Secrets, plan = 'self-hosted'): Promise<Tenant> {
  const organizationId = uuidv7()
  await db.query('insert into organizations (id, name, plan) values ($1, $2, $3)', [organizationId, 'Test', plan])
  return {
    organizationId,
    addMonitor: async ({ kind = 'heartbeat', intervalSeconds = 60, graceSeconds = 30 } = {}) => {
      const id = uuidv7()
      await db.query(
        `with m as (insert into monitors (id, organization_id, name, kind, interval_seconds, grace_seconds, timeout_seconds)
           values ($1, $2, $3, $4, $5, $6, 10) returning key)
         insert into monitor_states (monitor_key, organization_id) select key, $2 from m`,
        [id, organizationId, `monitor ${id}`, kind, intervalSeconds, graceSeconds]
      )
      return id
    },
    addAgent: async (monitorIds, { kind = 'agent', scopes = ['heartbeats:write'] } = {}) => {
      const [id, keyId, apiKey] = [uuidv7(), uuidv7(), mintApiKey(kind)]
      const { prefix, suffix } = partsToShow(apiKey)
      await db.query('insert into agents (id, organization_id, name, kind, scopes) values ($1, $2, $3, $4, $5)', [
        id,
        organizationId,
        `agent ${id}`,
        kind,
        scopes
      ])
      await db.query(
        `insert into agent_monitors (organization_id, agent_id, monitor_key)
         select $1, $2, key from monitors where id = any($3::uuid[])`,
        [organizationId, id, monitorIds]
      )
      await db.query(
        `insert into api_keys (id, organization_id, agent_id, digest, pepper_version, prefix, suffix)
         values ($1, $2, $3, $4, $5, $6, $7)`,
        [keyId, organizationId, id, secrets.digest(apiKey), secrets.version, prefix, suffix]
      )
      return { id, apiKey, keyId }
    },
    addPushUrl: async (monitorId) => {
      const token = randomBase62(32)
      await db.query(
        `insert into push_urls (id, organization_id, monitor_key, token_digest, token_sealed, pepper_version)
         select $1, $2, key, $4, $5, $6 from monitors where id = $3`,
        [uuidv7(), organizationId, monitorId, secrets.digest(token), secrets.seal(token, 'push_url'), secrets.version]
      )
      return token
    }
  }
}
