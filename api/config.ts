import { z } from 'zod'
import { parse, portVariable } from '../shared/env.ts'
import { PLANS, type PlanName } from '../shared/plans.ts'
import { addressSchema, processSchema, tlsSchema } from '../shared/process-config.ts'

const { API_URL, APP_URL, SITE_URL, INGEST_URL } = addressSchema.shape
const PLAN_NAMES = Object.keys(PLANS) as [PlanName, ...PlanName[]]

/** `alerts@example.com` or `Pulsegate <alerts@example.com>`. */
const SENDER = /^([^<>\r\n]*<[^\s@<>]+@[^\s@<>]+>|[^\s@<>]+@[^\s@<>]+)$/

const schema = z
  .object({
    ...processSchema.shape,
    ...tlsSchema.shape,
    // Those not given follow the port that is really listened on.
    API_URL: API_URL.unwrap().optional(),
    APP_URL: APP_URL.unwrap().optional(),
    SITE_URL: SITE_URL.unwrap().optional(),
    INGEST_URL,
    DATABASE_READ_URL: z
      .string()
      .regex(/^postgres(ql)?:\/\//, 'must begin with postgres://')
      .optional(),
    API_PORT: portVariable(8443),
    HTTP_PORT: portVariable(8080),
    API_ADMIN_PORT: portVariable(9101),
    DEFAULT_PLAN: z.enum(PLAN_NAMES, `must be one of ${PLAN_NAMES.join(', ')}`).default('self-hosted'),
    RATE_LIMIT_SCALE: z.coerce.number().positive('must be a number above 0').default(1),
    SMTP_URL: z.url({ protocol: /^smtps?$/, error: 'must be an smtp:// or smtps:// address' }).optional(),
    MAIL_FROM: z.string().regex(SENDER, 'must be an e-mail address, or Name <address>').optional()
  })
  .refine(({ SMTP_URL, MAIL_FROM }) => SMTP_URL === undefined || MAIL_FROM !== undefined, {
    path: ['MAIL_FROM'],
    error: 'must be set when SMTP_URL is'
  })
export type ApiConfig = z.output<typeof schema>

/** @throws StartupError naming every wrong variable. */
export function readConfig(): ApiConfig {
  return parse(schema, process.env)
}
