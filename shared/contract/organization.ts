import { z } from 'zod'
import { signedInSchema } from './auth.ts'
import { idField, nameField, timeField } from './fields.ts'
import { DONE_ANSWER, type Route } from './route.ts'

export const foundOrganizationBodySchema = z.strictObject({ name: nameField(200) }).meta({ id: 'NewOrganization' })

export const patchOrganizationBodySchema = z
  .strictObject({ name: nameField(200).optional() })
  .meta({ id: 'OrganizationChange' })

export const deleteOrganizationBodySchema = z
  .strictObject({
    name: z
      .string()
      .max(1000)
      .meta({ description: 'The name of the organization, so that none is deleted by mistake.' })
  })
  .meta({ id: 'OrganizationDeletion' })

const daysField = z.int().nullable()
const numberField = z.int().nullable()
const retentionField = z.object({ raw: daysField, '5m': daysField, '1h': daysField, '1d': daysField })

export const organizationDetailsSchema = z
  .object({
    id: idField,
    name: z.string(),
    plan: z.string().meta({ description: 'Only the operator of the installation changes it.' }),
    retentionDays: retentionField.meta({
      description: 'How long the plan keeps heartbeats and the rollups of them; null: for ever.'
    }),
    scheduledCut: z.object({ at: timeField, retentionDays: retentionField }).nullable().meta({
      description:
        'After a change to a smaller plan: until then as much is kept as is told here, though only what the plan keeps is shown. Then the rest is deleted.'
    }),
    limits: z
      .object({ monitors: numberField, agents: numberField, minIntervalSeconds: z.int() })
      .meta({ description: 'What the plan allows; null: any number.' }),
    usage: z
      .object({ monitors: z.int(), agents: z.int() })
      .meta({ description: 'What there is of what the plan limits; services are among the agents.' }),
    ssoRequired: z.boolean(),
    createdAt: timeField
  })
  .meta({ id: 'OrganizationDetails' })
export type OrganizationAnswer = z.output<typeof organizationDetailsSchema>

export const organizationRoutes = {
  foundOrganization: {
    method: 'POST',
    path: '/v1/organizations',
    auth: 'account',
    tag: 'Organization',
    summary: 'Found a further organization and be signed in to it as its owner.',
    body: foundOrganizationBodySchema,
    answers: { 201: { description: 'Founded and signed in to.', schema: signedInSchema } }
  },
  readOrganization: {
    method: 'GET',
    path: '/v1/organization',
    auth: 'organization:read',
    tag: 'Organization',
    summary: 'Read the organization that the caller is signed in to.',
    answers: { 200: { description: 'The organization.', schema: organizationDetailsSchema } }
  },
  patchOrganization: {
    method: 'PATCH',
    path: '/v1/organization',
    auth: 'organization:write',
    tag: 'Organization',
    summary: 'Rename the organization.',
    body: patchOrganizationBodySchema,
    answers: { 200: { description: 'The organization as it is now.', schema: organizationDetailsSchema } }
  },
  deleteOrganization: {
    method: 'DELETE',
    path: '/v1/organization',
    auth: 'organization:delete',
    recent: true,
    tag: 'Organization',
    summary: 'Delete the organization with its monitors, agents, keys, invitations and memberships, for good.',
    description: 'Accounts stay. Heartbeats can no longer be read; they are removed when their days run out.',
    body: deleteOrganizationBodySchema,
    answers: DONE_ANSWER
  },
  leaveOrganization: {
    method: 'POST',
    path: '/v1/organization/leave',
    auth: 'account',
    tag: 'Organization',
    summary: 'Leave the organization; every session of the caller in it ends.',
    answers: DONE_ANSWER,
    problems: ['last_owner']
  }
} as const satisfies Record<string, Route>
