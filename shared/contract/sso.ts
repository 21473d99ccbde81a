import { z } from 'zod'
import { idField, idParamsSchema, nextCursorField, timeField } from './fields.ts'
import { DONE_ANSWER, type Route } from './route.ts'

export const SSO_PROVIDERS = ['entra', 'google'] as const
export type SsoProvider = (typeof SSO_PROVIDERS)[number]

/** Entra's tenant of personal accounts, which anybody can have. */
export const PERSONAL_TENANT = '9188040d-6c67-4c5b-b112-36a304b66dad'

const providerField = z.enum(SSO_PROVIDERS)
const providerParamsSchema = z.object({ provider: providerField })
const tenantField = z.string().meta({ description: 'Of entra the tenant id (`tid`), of google the domain (`hd`).' })

const startQuerySchema = z.strictObject({
  returnTo: z
    .string()
    .max(2000)
    // `//host` and `/\host` would lead elsewhere.
    .regex(/^\/(?![/\\])[^\\\p{Cc}]*$/u, 'must be a path of this site, such as /monitors')
    .default('/')
    .meta({ description: 'Path of APP_URL to come back to.' }),
  organizationId: z.uuid().optional().meta({ description: 'For people of several organizations.' }),
  invitation: z.string().max(200).optional().meta({ description: 'Token of an invitation to accept by this sign-in.' }),
  link: z.literal('1').optional().meta({ description: 'Link the identity to the account that is signed in.' })
})
export type StartSsoQuery = z.output<typeof startQuerySchema>

/** Where the domain's owner shows the proof, and in which record. */
export const CHALLENGE_LABEL = '_pulsegate-challenge'

const domainField = z
  .string()
  .trim()
  .toLowerCase()
  // With the label before it, still a name of DNS.
  .max(230)
  .regex(/^([a-z\d]([a-z\d-]{0,61}[a-z\d])?\.)+[a-z]([a-z\d-]{0,61}[a-z\d])?$/, 'must be a domain, such as example.com')
  .meta({ examples: ['example.com'] })

const entraConnectionSchema = z.strictObject({
  provider: z.literal('entra'),
  tenant: z
    .string()
    .trim()
    .toLowerCase()
    .pipe(z.guid('must be the id of the tenant, a UUID'))
    .refine((tenant) => tenant !== PERSONAL_TENANT, 'must not be the tenant of personal accounts')
    .meta({ description: 'Directory (tenant) id, which Entra ID shows under Overview.' }),
  domain: domainField
})
const googleConnectionSchema = z.strictObject({
  provider: z.literal('google'),
  domain: domainField.meta({ description: 'Primary domain of the Workspace (`hd`).' })
})
export const newSsoConnectionSchema = z
  .discriminatedUnion('provider', [entraConnectionSchema, googleConnectionSchema])
  .meta({ id: 'NewSsoConnection' })

export const ssoConnectionSchema = z
  .object({
    id: idField,
    provider: providerField,
    tenant: tenantField,
    domain: z.string().meta({ description: 'What the addresses of people who may join by themselves end in.' }),
    proof: z
      .object({ type: z.literal('TXT'), name: z.string(), value: z.string() })
      .meta({ description: 'The DNS record that proves the domain.' }),
    provenAt: timeField.nullable().meta({ description: 'Null: lets nobody in yet.' }),
    createdAt: timeField
  })
  .meta({ id: 'SsoConnection' })
export type SsoConnectionAnswer = z.output<typeof ssoConnectionSchema>

export const ssoSchema = z
  .object({
    required: z.boolean().meta({ description: 'People enter this organization only by a bound tenant.' }),
    connections: z.array(ssoConnectionSchema)
  })
  .meta({ id: 'SingleSignOn' })
export type SsoAnswer = z.output<typeof ssoSchema>

const patchSsoSchema = z.strictObject({ required: z.boolean() }).meta({ id: 'SingleSignOnChange' })

const identitySchema = z
  .object({
    provider: providerField,
    tenant: tenantField,
    email: z.string().nullable().meta({ description: 'As the provider told it when it was linked.' }),
    linkedAt: timeField
  })
  .meta({ id: 'Identity' })

const identityListSchema = z
  .object({ data: z.array(identitySchema), nextCursor: nextCursorField })
  .meta({ id: 'IdentityList' })

const ssoSignInRoutes = {
  startSso: {
    method: 'GET',
    path: '/v1/auth/sso/{provider}',
    auth: 'none',
    tag: 'Single sign-on',
    summary: 'Send the browser to an identity provider to sign in.',
    params: providerParamsSchema,
    query: startQuerySchema,
    answers: {
      302: { description: 'To the identity provider.' },
      303: { description: 'To {APP_URL}/login?error={code}.' }
    },
    problems: ['not_found', 'validation_failed']
  },
  finishSso: {
    method: 'GET',
    path: '/v1/auth/sso/{provider}/callback',
    auth: 'none',
    tag: 'Single sign-on',
    summary: 'Where the identity provider sends the browser back to.',
    description:
      'Opens a session and goes on to `returnTo`. What went wrong is told by a stable code in {APP_URL}/login?error={code}. ' +
      'With `sign_in_first` and a `provider` the identity waits for ten minutes to be connected by `login`.',
    params: providerParamsSchema,
    answers: { 303: { description: 'To {APP_URL}, signed in, or to {APP_URL}/login?error={code}.' } },
    problems: ['not_found']
  }
} as const satisfies Record<string, Route>

const ssoSettingsRoutes = {
  readSso: {
    method: 'GET',
    path: '/v1/organization/sso',
    auth: 'sso:read',
    tag: 'Single sign-on',
    summary: 'How people of the organization sign in, and what it is bound to.',
    answers: { 200: { description: 'Every connection, oldest first.', schema: ssoSchema } }
  },
  patchSso: {
    method: 'PATCH',
    path: '/v1/organization/sso',
    auth: 'sso:write',
    recent: true,
    tag: 'Single sign-on',
    summary: 'Require single sign-on, or no longer.',
    description:
      'Requiring it takes a proven connection, and an identity of its tenant linked to the owner who asks; else nobody could undo it. ' +
      'It ends every session in the organization but that of the owner who asks, and that too where a password opened it.',
    body: patchSsoSchema,
    answers: { 200: { description: 'As it is now.', schema: ssoSchema } },
    problems: ['sso_not_ready']
  },
  createSsoConnection: {
    method: 'POST',
    path: '/v1/organization/sso',
    auth: 'sso:write',
    recent: true,
    tag: 'Single sign-on',
    summary: 'Bind the organization to a tenant of an identity provider.',
    description: 'It lets nobody in before the domain is proven.',
    body: newSsoConnectionSchema,
    answers: { 201: { description: 'Created, with the DNS record to make.', schema: ssoConnectionSchema } },
    problems: ['sso_connection_exists', 'limit_reached']
  },
  deleteSsoConnection: {
    method: 'DELETE',
    path: '/v1/organization/sso/{id}',
    auth: 'sso:write',
    recent: true,
    tag: 'Single sign-on',
    summary: 'Remove a connection. Who joined by it stays a member.',
    params: idParamsSchema,
    answers: DONE_ANSWER,
    problems: ['sso_not_ready']
  },
  verifySsoConnection: {
    method: 'POST',
    path: '/v1/organization/sso/{id}/verify',
    auth: 'sso:write',
    recent: true,
    tag: 'Single sign-on',
    summary: 'Look the proof up in DNS; from then on the connection lets people in.',
    params: idParamsSchema,
    answers: { 200: { description: 'Proven.', schema: ssoConnectionSchema } },
    problems: ['sso_domain_unproven']
  }
} as const satisfies Record<string, Route>

const identityRoutes = {
  listIdentities: {
    method: 'GET',
    path: '/v1/me/identities',
    auth: 'account',
    tag: 'Single sign-on',
    summary: 'The identities that are linked to my account.',
    answers: { 200: { description: 'All of them, oldest first.', schema: identityListSchema } }
  },
  unlinkIdentities: {
    method: 'DELETE',
    path: '/v1/me/identities/{provider}',
    auth: 'account',
    recent: true,
    tag: 'Single sign-on',
    summary: 'Unlink my identities of a provider, and end the other sessions that were opened by it.',
    params: providerParamsSchema,
    answers: DONE_ANSWER,
    problems: ['last_way_in']
  }
} as const satisfies Record<string, Route>

export const ssoRoutes = { ...ssoSignInRoutes, ...ssoSettingsRoutes, ...identityRoutes } as const
