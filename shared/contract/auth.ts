import { z } from 'zod'
import { idField, nameField } from './fields.ts'
import { ROLES } from './permissions.ts'
import type { Route } from './route.ts'

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

export const loginBodySchema = z
  .strictObject({
    email: z.string().max(1000),
    password: z.string(),
    organizationId: idField
      .optional()
      .meta({ description: 'For people of several organizations; else the oldest membership.' }),
    remember: z.boolean().optional().meta({ description: 'Answer with a refresh token as well.' })
  })
  .meta({ id: 'Login' })
export type LoginBody = z.output<typeof loginBodySchema>

const userSchema = z.object({ id: idField, name: z.string(), email: z.string() }).meta({ id: 'User' })
const organizationSchema = z.object({ id: idField, name: z.string(), plan: z.string() }).meta({ id: 'Organization' })

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

export const meSchema = z
  .object({ user: userSchema, organization: organizationSchema, role: z.enum(ROLES) })
  .meta({ id: 'Me' })

export const accountRoutes = {
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
    problems: ['invalid_credentials', 'organization_suspended', 'rate_limited']
  },
  me: {
    method: 'GET',
    path: '/v1/me',
    auth: 'account',
    tag: 'Sign-in',
    summary: 'Who is signed in, and in which organization.',
    answers: { 200: { description: 'The signed-in person.', schema: meSchema } }
  }
} as const satisfies Record<string, Route>
