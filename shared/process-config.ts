import { z } from 'zod'
import { isNetwork } from './webhooks/address-guard.ts'

/** Variables that the gateway, the API and the worker have in common; each process's `config.ts` adds its own. */
export const processSchema = z.object({
  DATABASE_URL: z
    .string({ error: 'must be set to a postgres:// address' })
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres://'),
  REDIS_URL: z
    .string({ error: 'must be set to a redis:// address' })
    .regex(
      /^redis(s|\+cluster|\+sentinel)?:\/\//,
      'must begin with redis://, rediss://, redis+cluster:// or redis+sentinel://'
    ),
  REDIS_PREFIX: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'may hold letters, digits, _ and -')
    .default('pulsegate'),
  REDIS_DURABILITY: z.enum(['require', 'accept'], 'must be require or accept').default('require'),
  SECRETS_KEY: z
    .string({ error: 'must be set to 32 random bytes in base64, the same in every process (npm start makes one)' })
    .refine((text) => Buffer.from(text, 'base64').length === 32, 'must be 32 bytes in base64'),
  SECRETS_KEY_OTHER: z
    .string()
    .refine((text) => Buffer.from(text, 'base64').length === 32, 'must be 32 bytes in base64')
    .optional(),
  DATA_DIR: z.string().default('./.data'),
  QUEUE_SHARDS: z
    .string()
    .regex(/^[1-9]\d?$/, 'must be a whole number from 1 to 99')
    .default('1')
    .transform(Number),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal'], 'must be a level from trace to fatal')
    .default('info'),
  PULSEGATE_PARENT_PIPE: z
    .enum(['0', '1'])
    .default('0')
    .transform((text) => text === '1')
})

/** Where this installation is reached; `null` follows the real ports on localhost. */
export const addressSchema = z.object({
  API_URL: z.url({ protocol: /^https$/, error: 'must be an https:// address' }).default('https://localhost:8443'),
  APP_URL: z.url({ protocol: /^https$/, error: 'must be an https:// address' }).default('https://localhost:8443'),
  SITE_URL: z.url({ protocol: /^https$/, error: 'must be an https:// address' }).default('https://localhost:8443'),
  INGEST_URL: z.url({ protocol: /^wss$/, error: 'must be a wss:// address' }).default('wss://localhost:8444')
})

const NETWORKS = 'must be networks such as 10.0.0.0/8, separated by commas'

/** Where webhooks may go although the address is private. */
export const webhookSchema = z.object({
  WEBHOOK_ALLOW: z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((part) => part.trim() || []))
    .refine((networks) => networks.every(isNetwork), NETWORKS)
})

/** How a listening process does TLS. */
export const tlsSchema = z.object({
  TLS_MODE: z.enum(['direct', 'proxy'], 'must be direct or proxy').default('direct'),
  TLS_CERT: z.string().optional(),
  TLS_KEY: z.string().optional()
})
