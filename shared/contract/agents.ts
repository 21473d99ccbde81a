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
    presence: z.enum(PRESENCES).meta({
      description:
        'When it was last heard: online up to a minute ago, stale up to two. A service, which need not hold a socket, is online up to three minutes after its last call.'
    }),
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

/** Keys of one agent that are valid at the same time: the one in use and the one that takes over. */
export const MAX_ACTIVE_KEYS = 2

export const apiKeySchema = z
  .object({
    id: idField,
    prefix: z.string().meta({ description: 'How the key begins.' }),
    suffix: z.string().meta({ description: 'How it ends.' }),
    createdAt: timeField,
    lastUsedAt: timeField.nullable().meta({ description: 'To the minute.' }),
    revokedAt: timeField.nullable()
  })
  .meta({ id: 'ApiKey' })
export type ApiKeyAnswer = z.output<typeof apiKeySchema>

export const newApiKeySchema = apiKeySchema
  .extend({ apiKey: z.string().meta({ description: 'Shown in this answer only.' }) })
  .meta({ id: 'NewApiKey' })

export const apiKeyPageSchema = z
  .object({ data: z.array(apiKeySchema), nextCursor: nextCursorField })
  .meta({ id: 'ApiKeyPage' })

const keyParamsSchema = idParamsSchema.extend({ keyId: z.uuid() })

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
    answers: { 201: { description: 'Created.', schema: agentWithKeySchema } },
    problems: ['limit_reached']
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
  },
  listKeys: {
    method: 'GET',
    path: '/v1/agents/{id}/keys',
    auth: 'agents:read',
    tag: 'Agents',
    summary: 'List the keys of an agent, revoked ones too, newest first. The keys themselves cannot be read again.',
    params: idParamsSchema,
    query: pageQuerySchema,
    answers: { 200: { description: 'One page.', schema: apiKeyPageSchema } },
    problems: ['invalid_cursor']
  },
  createKey: {
    method: 'POST',
    path: '/v1/agents/{id}/keys',
    auth: 'agents:write',
    tag: 'Agents',
    summary: `Give the agent a further key, so that one can take over from the other; at most ${MAX_ACTIVE_KEYS} are active.`,
    params: idParamsSchema,
    answers: { 201: { description: 'The key, which is shown in this answer only.', schema: newApiKeySchema } },
    problems: ['limit_reached']
  },
  deleteKey: {
    method: 'DELETE',
    path: '/v1/agents/{id}/keys/{keyId}',
    auth: 'agents:write',
    tag: 'Agents',
    summary: 'Revoke one key. Its requests are refused and its sockets closed within a second.',
    params: keyParamsSchema,
    answers: DONE_ANSWER
  }
} as const satisfies Record<string, Route>
