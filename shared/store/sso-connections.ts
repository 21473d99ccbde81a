import type { SsoProvider } from '../contract/sso.ts'
import { type Queryable, sqlState } from '../db.ts'
import { AppError } from '../errors.ts'

export interface SsoConnection {
  id: string
  provider: SsoProvider
  tenant: string
  domain: string
  proof_token: string
  proven_at: Date | null
  created_at: Date
}

const COLUMNS = 'id, provider, tenant, domain, proof_token, proven_at, created_at'

/** Oldest first. */
export function listSsoConnections(db: Queryable, organizationId: string): Promise<SsoConnection[]> {
  return db.query<SsoConnection>(
    `select ${COLUMNS} from sso_connections where organization_id = $1 order by created_at, id`,
    [organizationId]
  )
}

export async function findSsoConnection(
  db: Queryable,
  organizationId: string,
  id: string
): Promise<SsoConnection | undefined> {
  const [row] = await db.query<SsoConnection>(
    `select ${COLUMNS} from sso_connections where organization_id = $1 and id = $2`,
    [organizationId, id]
  )
  return row
}

/** @throws AppError sso_connection_exists */
export async function insertSsoConnection(
  db: Queryable,
  organizationId: string,
  connection: { id: string; provider: SsoProvider; tenant: string; domain: string; proofToken: string }
): Promise<void> {
  const { id, provider, tenant, domain, proofToken } = connection
  try {
    await db.query(
      `insert into sso_connections (id, organization_id, provider, tenant, domain, proof_token)
       values ($1, $2, $3, $4, $5, $6)`,
      [id, organizationId, provider, tenant, domain, proofToken]
    )
  } catch (error) {
    if (sqlState(error) === '23505') throw new AppError('sso_connection_exists', { cause: error })
    throw error
  }
}

/** Returns whether it was there and not proven yet. */
export async function proveSsoConnection(
  db: Queryable,
  organizationId: string,
  id: string,
  at: Date
): Promise<boolean> {
  const rows = await db.query(
    `update sso_connections set proven_at = $3
     where organization_id = $1 and id = $2 and proven_at is null
     returning id`,
    [organizationId, id, at]
  )
  return rows.length > 0
}

export async function deleteSsoConnection(db: Queryable, organizationId: string, id: string): Promise<void> {
  await db.query('delete from sso_connections where organization_id = $1 and id = $2', [organizationId, id])
}

/** A proven connection with the organization that it leads into. */
export interface BoundOrganization {
  id: string
  organization_id: string
  organization_name: string
  plan: string
  suspended: boolean
  domain: string
}

/** System-wide, proven ones only, oldest first: which organizations this tenant leads into is what is asked. */
export function findBoundOrganizations(
  db: Queryable,
  { provider, tenant }: { provider: SsoProvider; tenant: string }
): Promise<BoundOrganization[]> {
  return db.query<BoundOrganization>('select * from find_sso_connections($1, $2)', [provider, tenant])
}

/** Makes the person a member, if the connection is still there and proven. Returns whether it was. */
export async function joinBySso(db: Queryable, connectionId: string, userId: string): Promise<boolean> {
  const [row] = await db.query<{ joined: boolean }>('select join_by_sso($1, $2) as joined', [connectionId, userId])
  return row?.joined === true
}

/** The proven ones of a provider, oldest first. */
export function findOpenConnections(
  db: Queryable,
  organizationId: string,
  provider: SsoProvider
): Promise<Array<{ tenant: string }>> {
  return db.query(
    `select tenant from sso_connections
     where organization_id = $1 and provider = $2 and proven_at is not null
     order by created_at, id`,
    [organizationId, provider]
  )
}
