import type { TestApi } from './api.ts'
import type { Stores } from './ingest.ts'
import { type Ran, runScript } from './run-script.ts'

/** Runs a command of the operator on these stores. */
export function operatorOf(stores: Stores): (...args: string[]) => Promise<Ran> {
  const env = {
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl,
    REDIS_PREFIX: stores.prefix,
    SECRETS_KEY: stores.secretsKey
  }
  return (...args) => runScript('scripts/admin.ts', env, ...args)
}

/** What the operator did to an organization, newest first. */
export function doneByOperator(stores: Stores, organizationId: string) {
  return stores.db.query<{ action: string; details: Record<string, unknown> }>(
    `select action, details from audit_log where organization_id = $1 and actor_kind = 'operator' order by id desc`,
    [organizationId]
  )
}

export function logIn(api: TestApi, email: string, password: string) {
  return api.call('POST', '/v1/auth/login', { json: { email, password } })
}
