import { z } from 'zod'
import { idField, nameField, timeField } from './fields.ts'
import { ROLES } from './permissions.ts'
import { DONE_ANSWER, type Route } from './route.ts'

/** Longest password, in UTF-8 bytes; the shortest, in characters after NFKC. */
export const MAX_PASSWORD_BYTES = 1024
export const MIN_PASSWORD_LENGTH = 15

export const emailField = z
  .string()
  .trim()
  .max(254)
  .pipe(z.email())
  .meta({ format: 'email', examples: ['alice@example.com'] })

// Length and commonness have codes of their own, so they are judged by the handler.
export const newPasswordField = z.string().meta({
  description: `At least ${MIN_PASSWORD_LENGTH} characters, at most ${MAX_PASSWORD_BYTES} bytes, any of Unicode.`
})

export const signupBodySchema = z
  .strictObject({
    organizationName: nameField(200),
    name: nameField(200),
    email: emailField,
    password: newPasswordField
  })
  .meta({ id: 'Signup' })
export type SignupBody = z.output<typeof signupBodySchema>

/** Whatever somebody types for their address, but what PostgreSQL cannot look up. */
const typedEmailField = z
  .string()
  .max(1000)
  .refine((text) => !text.includes('\u0000'), 'must not contain U+0000')

export const loginBodySchema = z
  .strictObject({
    email: typedEmailField,
    password: z.string(),
    organizationId: idField
      .optional()
      .meta({ description: 'For people of several organizations; else the oldest membership.' }),
    remember: z.boolean().optional().meta({ description: 'Answer with a refresh token as well.' }),
    connect: z
      .boolean()
      .optional()
      .meta({
        description:
          'Link the identity that a sign-in by a provider ended with `sign_in_first` for, in this browser and at most ten ' +
          'minutes ago, and go where it leads.'
      })
  })
  .meta({ id: 'Login' })
export type LoginBody = z.output<typeof loginBodySchema>

export const userSchema = z.object({ id: idField, name: z.string(), email: z.string() }).meta({ id: 'User' })
export const organizationSchema = z
  .object({ id: idField, name: z.string(), plan: z.string() })
  .meta({ id: 'Organization' })

export const signedInSchema = z
  .object({
    jwt: z.string().meta({ description: 'Goes into Authorization: Bearer.' }),
    tokenType: z.literal('Bearer'),
    expiresIn: z.number().int().meta({ description: 'Seconds: exactly 24 hours.' }),
    user: userSchema,
    organization: organizationSchema,
    refreshToken: z.string().optional().meta({ description: 'Only when asked for by `remember`; each is used once.' })
  })
  .meta({ id: 'SignedIn' })
export type SignedIn = z.output<typeof signedInSchema>

export const refreshBodySchema = z.strictObject({ refreshToken: z.string().max(1000) }).meta({ id: 'Refresh' })

export const refreshedSchema = signedInSchema
  .pick({ jwt: true, tokenType: true, expiresIn: true })
  .extend({ refreshToken: z.string().meta({ description: 'Takes the place of the one that was sent.' }) })
  .meta({ id: 'Refreshed' })

export const logoutBodySchema = z
  .strictObject({
    refreshToken: z
      .string()
      .max(1000)
      .optional()
      .meta({ description: 'Its session ends as well, where it is another one of the same person.' })
  })
  .meta({ id: 'Logout' })

export const switchBodySchema = z.strictObject({ organizationId: idField }).meta({ id: 'Switch' })

/** `user` is null for who is not signed in; then the rest is absent. */
export const sessionSchema = z
  .object({
    user: userSchema.nullable(),
    organization: organizationSchema.optional(),
    role: z.enum(ROLES).optional(),
    organizations: z
      .array(
        organizationSchema
          .extend({ role: z.enum(ROLES), suspended: z.boolean(), ssoRequired: z.boolean() })
          .meta({ id: 'OwnOrganization' })
      )
      .optional()
      .meta({ description: 'All that the person belongs to, the oldest membership first.' }),
    authenticatedAt: timeField
      .optional()
      .meta({ description: 'When the person last proved who they are; some changes ask for the last ten minutes.' })
  })
  .meta({ id: 'Session' })
export type SessionAnswer = z.output<typeof sessionSchema>

export const methodsSchema = z
  .object({
    password: z.boolean(),
    entra: z.boolean(),
    google: z.boolean(),
    passwordReset: z.boolean().meta({ description: 'Whether a forgotten password can be reset by mail.' })
  })
  .meta({ id: 'SignInMethods' })

export const forgotPasswordBodySchema = z.strictObject({ email: typedEmailField }).meta({ id: 'ForgottenPassword' })

export const resetPasswordBodySchema = z
  .strictObject({
    token: z.string().max(1000).meta({ description: 'Of the link in the mail.' }),
    password: newPasswordField
  })
  .meta({ id: 'PasswordReset' })

export const confirmEmailBodySchema = z
  .strictObject({ token: z.string().max(1000).meta({ description: 'Of the link in the mail.' }) })
  .meta({ id: 'EmailConfirmation' })

export const signInRoutes = {
  signup: {
    method: 'POST',
    path: '/v1/auth/signup',
    auth: 'none',
    tag: 'Sign-in',
    summary: 'Create an organization and its first user, the owner.',
    body: signupBodySchema,
    answers: { 201: { description: 'Created and signed in.', schema: signedInSchema } },
    problems: ['email_in_use', 'password_too_short', 'password_too_common', 'rate_limited']
  },
  login: {
    method: 'POST',
    path: '/v1/auth/login',
    auth: 'none',
    tag: 'Sign-in',
    summary: 'Exchange e-mail and password for a JWT that is valid for 24 hours.',
    body: loginBodySchema,
    answers: { 200: { description: 'Signed in.', schema: signedInSchema } },
    problems: [
      'invalid_credentials',
      'organization_suspended',
      'rate_limited',
      'sso_state_invalid',
      'sign_in_first',
      'sso_identity_taken',
      'sso_not_connected',
      'sso_email_unverified',
      'sso_wrong_tenant',
      'invitation_invalid'
    ]
  },
  refreshSession: {
    method: 'POST',
    path: '/v1/auth/refresh',
    auth: 'none',
    tag: 'Sign-in',
    summary: 'Exchange a refresh token for a new JWT and the next refresh token.',
    description:
      'Each refresh token is used once. One that comes again later than 10 s after its use, or from another network or ' +
      '`User-Agent`, ends its session. A session ends after 14 days without use, and after 30 days in any case.',
    body: refreshBodySchema,
    answers: { 200: { description: 'Refreshed.', schema: refreshedSchema } },
    problems: ['unauthorized', 'organization_suspended', 'rate_limited']
  },
  logout: {
    method: 'POST',
    path: '/v1/auth/logout',
    auth: 'account',
    tag: 'Sign-in',
    summary: 'End the session with its cookie and its refresh tokens. A JWT runs out by itself, within 24 hours.',
    body: logoutBodySchema,
    bodyOptional: true,
    answers: DONE_ANSWER
  },
  switchOrganization: {
    method: 'POST',
    path: '/v1/auth/switch',
    auth: 'account',
    tag: 'Sign-in',
    summary: 'Be signed in to another organization of the same person, without showing the password again.',
    body: switchBodySchema,
    answers: { 200: { description: 'Signed in there.', schema: signedInSchema } },
    problems: ['not_found', 'sso_required']
  },
  readSession: {
    method: 'GET',
    path: '/v1/auth/session',
    auth: 'none',
    tag: 'Sign-in',
    summary: 'Who is signed in, and where else they belong; `user` is null for nobody.',
    answers: { 200: { description: 'Who it is.', schema: sessionSchema } }
  },
  signInMethods: {
    method: 'GET',
    path: '/v1/auth/methods',
    auth: 'none',
    tag: 'Sign-in',
    summary: 'Which ways to sign in this installation offers.',
    answers: { 200: { description: 'The ways.', schema: methodsSchema } }
  },
  forgotPassword: {
    method: 'POST',
    path: '/v1/auth/password/forgot',
    auth: 'none',
    tag: 'Sign-in',
    summary: 'Ask for a mail with a link that sets a new password.',
    description: 'The answer is the same whether there is such an account or not, and whether mail can be sent or not.',
    body: forgotPasswordBodySchema,
    answers: { 202: { description: 'If there is such an account, the mail is on its way.' } },
    problems: ['rate_limited']
  },
  resetPassword: {
    method: 'POST',
    path: '/v1/auth/password/reset',
    auth: 'none',
    tag: 'Sign-in',
    summary: 'Set a new password by the link of a mail. It is used once, within an hour; every session ends.',
    body: resetPasswordBodySchema,
    answers: DONE_ANSWER,
    problems: ['reset_invalid', 'password_too_short', 'password_too_common', 'rate_limited']
  },
  confirmEmail: {
    method: 'POST',
    path: '/v1/auth/email/confirm',
    auth: 'none',
    tag: 'Sign-in',
    summary: 'Take the address that a link was mailed to as the own one. It is used once, within an hour.',
    body: confirmEmailBodySchema,
    answers: DONE_ANSWER,
    problems: ['reset_invalid', 'email_in_use', 'rate_limited']
  }
} as const satisfies Record<string, Route>
