import { z } from 'zod'
import { parse, portVariable } from '../shared/env.ts'
import { PLANS, type PlanName } from '../shared/plans.ts'
import { addressSchema, processSchema, tlsSchema, webhookSchema } from '../shared/process-config.ts'

const { API_URL, APP_URL, SITE_URL, INGEST_URL } = addressSchema.shape
const PLAN_NAMES = Object.keys(PLANS) as [PlanName, ...PlanName[]]

/** `alerts@example.com` or `Pulsegate <alerts@example.com>`. */
const SENDER = /^([^<>\r\n]*<[^\s@<>]+@[^\s@<>]+>|[^\s@<>]+@[^\s@<>]+)$/

const clientField = z.string().min(1).optional()
const issuerField = z.url({ protocol: /^https$/, error: 'must be an https:// address' })

/** The sign-in's cookie is set at APP_URL, where it begins, and has to be seen at API_URL, where it ends. */
function isOneOrigin(apiUrl: string | undefined, appUrl: string | undefined): boolean {
  if (apiUrl === undefined || appUrl === undefined) return apiUrl === appUrl
  return new URL(apiUrl).origin === new URL(appUrl).origin
}

const schema = z
  .object({
    ...processSchema.shape,
    ...tlsSchema.shape,
    ...webhookSchema.shape,
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
    MAIL_FROM: z.string().regex(SENDER, 'must be an e-mail address, or Name <address>').optional(),
    ENTRA_CLIENT_ID: clientField,
    ENTRA_CLIENT_SECRET: clientField,
    ENTRA_AUTHORITY: issuerField.default('https://login.microsoftonline.com'),
    GOOGLE_CLIENT_ID: clientField,
    GOOGLE_CLIENT_SECRET: clientField,
    GOOGLE_ISSUER: issuerField.default('https://accounts.google.com')
  })
  .superRefine((config, context) => {
    const lacks = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
    for (const provider of ['ENTRA', 'GOOGLE'] as const) {
      const [id, secret] = [`${provider}_CLIENT_ID`, `${provider}_CLIENT_SECRET`] as const
      if (config[id] !== undefined && config[secret] === undefined) lacks(secret, `must be set when ${id} is`)
      if (config[secret] !== undefined && config[id] === undefined) lacks(id, `must be set when ${secret} is`)
    }
    const single = config.ENTRA_CLIENT_ID !== undefined || config.GOOGLE_CLIENT_ID !== undefined
    if (single && !isOneOrigin(config.API_URL, config.APP_URL)) {
      lacks('APP_URL', 'must have the same origin as API_URL when people sign in by an identity provider')
    }
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
