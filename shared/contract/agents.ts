import { z } from 'zod'
import { idField, idParamsSchema, nameField, nextCursorField, pageQuerySchema, timeField } from './fields.ts'
import { SCOPES } from './permissions.ts'
import { DONE_ANSWER, type Route } from './route.ts'

const kindField = z
  .enum(['agent', 'service'])
  .meta({ description: 'agent: our agent on a machine. service: a program that reports by itself.' })
const monitorIdsField = z.array(idField).max(10_000)
const scopesField = z.array(z.enum(SCOPES)).min(1).max(SCOPES.length)

export const PRESENCES = ['never_connected', 'online', 'stale', 'offline', 'revoked'] as const

export const createAgentBodySchema = z
  .strictObject({
    name: nameField(200),
    kind: kindField,
    monitorIds: monitorIdsField.default([]),
    scopes: scopesField.default(['heartbeats:write'])
  })
  .meta({ id: 'NewAgent' })
export type CreateAgentBody = z.output<typeof createAgentBodySchema>

export const patchAgentBodySchema = z
  .strictObject({
    name: nameField(200).optional(),
    monitorIds: monitorIdsField.optional(),
    scopes: scopesField.optional()
  })
  .meta({ id: 'AgentChange' })
export type PatchAgentBody = z.output<typeof patchAgentBodySchema>

export const agentSchema = z
  .object({
    id: idField,
    name: z.string(),
    kind: kindField,
    monitorIds: z.array(idField),
    scopes: z.array(z.enum(SCOPES)),
    presence: z.enum(PRESENCES),
    version: z.string().nullable(),
    lastSeenAt: timeField.nullable(),
    createdAt: timeField
  })
  .meta({ id: 'Agent' })
export type AgentAnswer = z.output<typeof agentSchema>

export const agentWithKeySchema = agentSchema
  .extend({ apiKey: z.string().meta({ description: 'Shown in this answer only.' }) })
  .meta({ id: 'AgentWithKey' })

export const agentPageSchema = z
  .object({ data: z.array(agentSchema), nextCursor: nextCursorField })
  .meta({ id: 'AgentPage' })

export const agentRoutes = {
  listAgents: {
    method: 'GET',
    path: '/v1/agents',
    auth: 'agents:read',
    tag: 'Agents',
    summary: 'List agents and services, newest first.',
    query: pageQuerySchema,
    answers: { 200: { description: 'One page.', schema: agentPageSchema } },
    problems: ['invalid_cursor']
  },
  createAgent: {
    method: 'POST',
    path: '/v1/agents',
    auth: 'agents:write',
    tag: 'Agents',
    summary: 'Create an agent or a service with its API key, which is shown in this answer only.',
    body: createAgentBodySchema,
    answers: { 201: { description: 'Created.', schema: agentWithKeySchema } }
  },
  readAgent: {
    method: 'GET',
    path: '/v1/agents/{id}',
    auth: 'agents:read',
    tag: 'Agents',
    summary: 'Read one agent or service.',
    params: idParamsSchema,
    answers: { 200: { description: 'The agent.', schema: agentSchema } }
  },
  patchAgent: {
    method: 'PATCH',
    path: '/v1/agents/{id}',
    auth: 'agents:write',
    tag: 'Agents',
    summary: 'Change the name, the monitor set or the scopes; connected agents learn of it at once.',
    params: idParamsSchema,
    body: patchAgentBodySchema,
    answers: { 200: { description: 'The agent as it is now.', schema: agentSchema } }
  },
  deleteAgent: {
    method: 'DELETE',
    path: '/v1/agents/{id}',
    auth: 'agents:write',
    tag: 'Agents',
    summary: 'Delete an agent or a service with its keys. What it reported stays.',
    params: idParamsSchema,
    answers: DONE_ANSWER
  },
  rotateAgent: {
    method: 'POST',
    path: '/v1/agents/{id}/rotate',
    auth: 'agents:write',
    tag: 'Agents',
    summary: 'Revoke every key of the agent at once and show a new one.',
    params: idParamsSchema,
    answers: { 200: { description: 'The agent with its new key.', schema: agentWithKeySchema } }
  }
} as const satisfies Record<string, Route>
