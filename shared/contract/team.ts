import { z } from 'zod'
import { emailField, newPasswordField, signedInSchema } from './auth.ts'
import { idField, idParamsSchema, nameField, nextCursorField, pageQuerySchema, timeField } from './fields.ts'
import { ROLES } from './permissions.ts'
import { DONE_ANSWER, type Route } from './route.ts'

const roleField = z.enum(ROLES)

export const inviteBodySchema = z.strictObject({ email: emailField, role: roleField }).meta({ id: 'NewInvitation' })

export const invitationSchema = z
  .object({
    id: idField,
    email: z.string(),
    role: roleField,
    invitedBy: z
      .object({ id: idField, name: z.string() })
      .nullable()
      .meta({ description: 'Null when that person has left.' }),
    createdAt: timeField,
    expiresAt: timeField
  })
  .meta({ id: 'Invitation' })
export type InvitationAnswer = z.output<typeof invitationSchema>

export const madeInvitationSchema = invitationSchema
  .extend({
    url: z.url().optional().meta({
      description: 'The link to hand over, in this answer only; absent when it was sent by mail.'
    })
  })
  .meta({ id: 'MadeInvitation' })

export const invitationPageSchema = z
  .object({ data: z.array(invitationSchema), nextCursor: nextCursorField })
  .meta({ id: 'InvitationPage' })

export const openInvitationSchema = z
  .object({
    organizationName: z.string(),
    email: z.string(),
    role: roleField,
    expiresAt: timeField,
    accountExists: z.boolean().meta({ description: 'True: sign in with that address first, then accept.' }),
    ssoRequired: z.boolean()
  })
  .meta({ id: 'OpenInvitation' })

export const acceptBodySchema = z
  .strictObject({ name: nameField(200).optional(), password: newPasswordField.optional() })
  .meta({
    id: 'InvitationAcceptance',
    description: 'Nothing from who is signed in; name and password from who has no account yet.'
  })

export const memberSchema = z
  .object({
    id: idField.meta({ description: 'Of the person.' }),
    name: z.string(),
    email: z.string(),
    role: roleField,
    joinedAt: timeField,
    lastSeenAt: timeField.nullable()
  })
  .meta({ id: 'Member' })
export type MemberAnswer = z.output<typeof memberSchema>

export const memberPageSchema = z
  .object({ data: z.array(memberSchema), nextCursor: nextCursorField })
  .meta({ id: 'MemberPage' })

export const patchMemberBodySchema = z.strictObject({ role: roleField }).meta({ id: 'MemberChange' })

/** Exactly our tokens: whatever else stands there is answered like one that never was. */
const tokenParamsSchema = z.object({ token: z.string().regex(/^pgi_[0-9A-Za-z]{43}$/) })

export const teamRoutes = {
  createInvitation: {
    method: 'POST',
    path: '/v1/team/invitations',
    auth: 'team:write',
    tag: 'Team',
    summary: 'Invite a person by e-mail; the link is good for 7 days.',
    description:
      'A second invitation of the same address replaces the first. Only owners invite owners. Without mail, or when it could not be sent, the answer holds the link.',
    body: inviteBodySchema,
    answers: { 201: { description: 'Invited.', schema: madeInvitationSchema } },
    problems: ['already_member']
  },
  listInvitations: {
    method: 'GET',
    path: '/v1/team/invitations',
    auth: 'team:read',
    tag: 'Team',
    summary: 'List the invitations that nobody has accepted yet, newest first.',
    query: pageQuerySchema,
    answers: { 200: { description: 'One page.', schema: invitationPageSchema } },
    problems: ['invalid_cursor']
  },
  deleteInvitation: {
    method: 'DELETE',
    path: '/v1/team/invitations/{id}',
    auth: 'team:write',
    tag: 'Team',
    summary: 'Take an invitation back.',
    params: idParamsSchema,
    answers: DONE_ANSWER
  },
  readInvitation: {
    method: 'GET',
    path: '/v1/invitations/{token}',
    auth: 'none',
    tag: 'Team',
    summary: 'What the holder of an invitation is invited to.',
    params: tokenParamsSchema,
    answers: { 200: { description: 'The invitation.', schema: openInvitationSchema } },
    problems: ['not_found']
  },
  acceptInvitation: {
    method: 'POST',
    path: '/v1/invitations/{token}/accept',
    auth: 'none',
    tag: 'Team',
    summary: 'Join the organization and be signed in to it.',
    description:
      'Send `{}` when signed in, else `{name,password}` for a new account. An account that exists has to be signed in; one that belongs to no organization, and so cannot, shows its password here.',
    params: tokenParamsSchema,
    body: acceptBodySchema,
    answers: { 200: { description: 'Joined and signed in.', schema: signedInSchema } },
    problems: [
      'not_found',
      'unauthorized',
      'invalid_credentials',
      'invitation_of_another',
      'sso_required',
      'sign_in_first',
      'password_too_short',
      'password_too_common',
      'rate_limited'
    ]
  },
  listMembers: {
    method: 'GET',
    path: '/v1/team/members',
    auth: 'team:read',
    tag: 'Team',
    summary: 'List the people of the organization, who joined last first.',
    query: pageQuerySchema,
    answers: { 200: { description: 'One page.', schema: memberPageSchema } },
    problems: ['invalid_cursor']
  },
  patchMember: {
    method: 'PATCH',
    path: '/v1/team/members/{id}',
    auth: 'team:write',
    tag: 'Team',
    summary: 'Change the role of a person. Only owners make or change owners.',
    params: idParamsSchema,
    body: patchMemberBodySchema,
    answers: { 200: { description: 'The person as they are now.', schema: memberSchema } },
    problems: ['last_owner']
  },
  deleteMember: {
    method: 'DELETE',
    path: '/v1/team/members/{id}',
    auth: 'team:write',
    tag: 'Team',
    summary: 'Remove a person; their sessions and tokens for this organization end at once.',
    params: idParamsSchema,
    answers: DONE_ANSWER,
    problems: ['last_owner']
  }
} as const satisfies Record<string, Route>
