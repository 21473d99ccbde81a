import { resolve } from 'node:path'
import { z } from 'zod'
import { type Environment, parse, portVariable } from '../shared/env.ts'
import { addressSchema, tlsSchema } from '../shared/process-config.ts'

const optionalText = z.string().optional()

/** What the supervisor itself reads; everything else goes to the processes as it is. */
const schema = z.object({
  DATA_DIR: z
    .string()
    .default('./.data')
    .transform((path) => resolve(path)),
  DATABASE_URL: optionalText,
  REDIS_URL: optionalText,
  SECRETS_KEY: optionalText,
  API_PORT: portVariable(8443),
  HTTP_PORT: portVariable(8080),
  INGEST_PORT: portVariable(8444),
  API_ADMIN_PORT: portVariable(9101),
  GATEWAY_ADMIN_PORT: portVariable(9102),
  WORKER_ADMIN_PORT: portVariable(9103),
  ...tlsSchema.shape
})

/** An address that is not set follows the port that its process really has. */
const addresses = z.object({
  API_URL: addressSchema.shape.API_URL.unwrap().optional(),
  APP_URL: addressSchema.shape.APP_URL.unwrap().optional(),
  SITE_URL: addressSchema.shape.SITE_URL.unwrap().optional(),
  INGEST_URL: addressSchema.shape.INGEST_URL.unwrap().optional()
})

export type LocalConfig = ReturnType<typeof readConfig>

/** Reads the supervisor's configuration. Throws StartupError naming every wrong variable. */
export function readConfig(env: Environment = process.env, argv: readonly string[] = process.argv) {
  return {
    ...parse(schema.extend(addresses.shape), env),
    /** What the processes inherit. */
    environment: env,
    demo: argv.includes('--demo'),
    /** npm forwards neither SIGHUP nor its own violent death. */
    startedByNpm: env.npm_lifecycle_event !== undefined
  }
}
