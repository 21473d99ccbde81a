import { z } from 'zod'
import { emailField, newPasswordField, organizationSchema, userSchema } from './auth.ts'
import { idField, idParamsSchema, nameField, nextCursorField, pageQuerySchema, timeField } from './fields.ts'
import { ROLES } from './permissions.ts'
import { DONE_ANSWER, type Route } from './route.ts'

export const meSchema = z
  .object({ user: userSchema, organization: organizationSchema, role: z.enum(ROLES) })
  .meta({ id: 'Me' })

export const patchMeBodySchema = z.strictObject({ name: nameField(200).optional() }).meta({ id: 'MeChange' })

export const changePasswordBodySchema = z
  .strictObject({ currentPassword: z.string(), newPassword: newPasswordField })
  .meta({ id: 'PasswordChange' })

export const changeEmailBodySchema = z.strictObject({ email: emailField }).meta({ id: 'EmailChange' })

export const ownSessionSchema = z
  .object({
    id: idField,
    organization: z.object({ id: idField, name: z.string() }),
    method: z.enum(['password', 'entra', 'google']),
    createdAt: timeField,
    lastUsedAt: timeField.meta({ description: 'Exact to a minute.' }),
    expiresAt: timeField,
    userAgent: z.string().nullable(),
    address: z.string().nullable(),
    current: z.boolean().meta({ description: 'The session that asks.' })
  })
  .meta({ id: 'OwnSession' })
export type OwnSessionAnswer = z.output<typeof ownSessionSchema>

export const ownSessionPageSchema = z
  .object({ data: z.array(ownSessionSchema), nextCursor: nextCursorField })
  .meta({ id: 'OwnSessionPage' })

export const accountRoutes = {
  me: {
    method: 'GET',
    path: '/v1/me',
    auth: 'account',
    tag: 'Account',
    summary: 'Who is signed in, and in which organization.',
    answers: { 200: { description: 'The signed-in person.', schema: meSchema } }
  },
  patchMe: {
    method: 'PATCH',
    path: '/v1/me',
    auth: 'account',
    tag: 'Account',
    summary: 'Change the own name.',
    body: patchMeBodySchema,
    answers: { 200: { description: 'The person as they are now.', schema: meSchema } }
  },
  changePassword: {
    method: 'POST',
    path: '/v1/me/password',
    auth: 'account',
    tag: 'Account',
    summary: 'Change the own password. Every other session ends.',
    body: changePasswordBodySchema,
    answers: DONE_ANSWER,
    problems: ['invalid_credentials', 'password_too_short', 'password_too_common']
  },
  changeEmail: {
    method: 'POST',
    path: '/v1/me/email',
    auth: 'account',
    recent: true,
    tag: 'Account',
    summary: 'Ask for a mail to a new address, with a link that makes it the own one. The next one takes its place.',
    body: changeEmailBodySchema,
    answers: { 202: { description: 'The mail is on its way, and a notice to the address of now.' } },
    problems: ['mail_not_configured', 'email_in_use', 'rate_limited']
  },
  listSessions: {
    method: 'GET',
    path: '/v1/me/sessions',
    auth: 'account',
    tag: 'Account',
    summary: 'List the own open sessions, of all organizations, newest first.',
    query: pageQuerySchema,
    answers: { 200: { description: 'One page.', schema: ownSessionPageSchema } },
    problems: ['invalid_cursor']
  },
  endOtherSessions: {
    method: 'DELETE',
    path: '/v1/me/sessions',
    auth: 'account',
    tag: 'Account',
    summary: 'End every own session but the one that asks.',
    answers: DONE_ANSWER
  },
  endSession: {
    method: 'DELETE',
    path: '/v1/me/sessions/{id}',
    auth: 'account',
    tag: 'Account',
    summary: 'End one of the own sessions.',
    params: idParamsSchema,
    answers: DONE_ANSWER
  }
} as const satisfies Record<string, Route>
