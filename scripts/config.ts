import { z } from 'zod'
import { embeddedDatabaseUrl, embeddedRedisUrl, keptSecretsKey } from '../shared/embedded-stores.ts'
import { type Environment, parse } from '../shared/env.ts'
import { PLANS, type PlanName } from '../shared/plans.ts'
import { processSchema } from '../shared/process-config.ts'

const { DATABASE_URL, REDIS_URL, REDIS_PREFIX, QUEUE_SHARDS, SECRETS_KEY, SECRETS_KEY_OTHER, DATA_DIR } =
  processSchema.shape
const schema = z.object({ DATABASE_URL })
const queueSchema = z.object({ REDIS_URL, REDIS_PREFIX, QUEUE_SHARDS })
const PLAN_NAMES = Object.keys(PLANS) as [PlanName, ...PlanName[]]
const adminSchema = z.object({
  DATABASE_URL,
  REDIS_URL,
  REDIS_PREFIX,
  SECRETS_KEY,
  SECRETS_KEY_OTHER,
  DEFAULT_PLAN: z.enum(PLAN_NAMES, `must be one of ${PLAN_NAMES.join(', ')}`).default('self-hosted')
})
export type AdminConfig = z.output<typeof adminSchema>

export function readConfig(): z.output<typeof schema> {
  return parse(schema, process.env)
}

const FOUND = { DATABASE_URL: embeddedDatabaseUrl, REDIS_URL: embeddedRedisUrl, SECRETS_KEY: keptSecretsKey }

/** What is not set is looked for where `npm start` left it in the data folder. */
function withEmbedded(env: Environment): Environment {
  const dataDir = z.object({ DATA_DIR }).parse({ DATA_DIR: env.DATA_DIR || undefined }).DATA_DIR
  const found = Object.entries(FOUND).flatMap(([name, find]) =>
    env[name] || env[`${name}_FILE`] ? [] : [[name, find(dataDir)] as const]
  )
  return { ...env, ...Object.fromEntries(found) }
}

/** Where the queue is: REDIS_URL, else the Redis embedded under DATA_DIR. @throws StartupError naming what is wrong. */
export function readQueueConfig(): z.output<typeof queueSchema> {
  return parse(queueSchema, withEmbedded(process.env))
}

/** What the operator's commands work on. @throws StartupError naming what is wrong. */
export function readAdminConfig(): AdminConfig {
  return parse(adminSchema, withEmbedded(process.env))
}
