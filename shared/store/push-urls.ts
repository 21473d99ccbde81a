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
