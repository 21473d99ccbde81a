import type { Queryable } from '../db.ts'

export interface NewPushUrl {
  id: string
  organizationId: string
  monitorKey: number
  tokenDigest: Buffer
  tokenSealed: Buffer
  pepperVersion: number
}

export async function insertPushUrl(db: Queryable, pushUrl: NewPushUrl): Promise<void> {
  await db.query(
    `insert into push_urls (id, organization_id, monitor_key, token_digest, token_sealed, pepper_version)
     values ($1, $2, $3, $4, $5, $6)`,
    [
      pushUrl.id,
      pushUrl.organizationId,
      pushUrl.monitorKey,
      pushUrl.tokenDigest,
      pushUrl.tokenSealed,
      pushUrl.pepperVersion
    ]
  )
}

/** What a token is sealed for. */
export function pushContext(monitorId: string): string {
  return `push-url/${monitorId}`
}

export interface SealedTokenRow {
  id: string
  monitor_id: string
  token_sealed: Buffer
}

/** System-wide: every token, by id; nobody changes them until this transaction ends. */
export function lockPushTokens(tx: Queryable, after: string | null, limit: number): Promise<SealedTokenRow[]> {
  return tx.query<SealedTokenRow>(
    `select p.id, m.id as monitor_id, p.token_sealed from push_urls p join monitors m on m.key = p.monitor_key
     where $1::uuid is null or p.id > $1 order by p.id limit $2 for update of p`,
    [after, limit]
  )
}

/** System-wide: the same tokens, stored by another key. */
export async function storePushTokens(
  tx: Queryable,
  tokens: ReadonlyArray<{ id: string; digest: Buffer; sealed: Buffer }>
): Promise<void> {
  await tx.query(
    `update push_urls p set token_digest = u.digest, token_sealed = u.sealed
     from unnest($1::uuid[], $2::bytea[], $3::bytea[]) as u (id, digest, sealed) where p.id = u.id`,
    [tokens.map(({ id }) => id), tokens.map(({ digest }) => digest), tokens.map(({ sealed }) => sealed)]
  )
}
