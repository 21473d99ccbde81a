import { z } from 'zod'
import { idField, idParamsSchema, nameField, nextCursorField, pageQuerySchema, timeField } from './fields.ts'
import { DONE_ANSWER, type Route } from './route.ts'

/** What a channel may be told of. */
export const CHANNEL_EVENTS = ['down', 'agent', 'pending', 'degraded', 'unknown'] as const
export type ChannelEvent = (typeof CHANNEL_EVENTS)[number]

/** Channels of one organization. */
export const MAX_CHANNELS = 50

const kindField = z.enum(['webhook'])
const urlField = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
  .max(2048)
  .refine((text) => {
    if (!URL.canParse(text)) return true
    const { username, password, hostname } = new URL(text)
    return username === '' && password === '' && hostname !== ''
  }, 'must name a host, and no user or password')
  .meta({ description: 'Where messages are posted to. Private addresses are refused.' })
const eventsField = z.array(z.enum(CHANNEL_EVENTS)).min(1).max(CHANNEL_EVENTS.length).meta({
  description:
    'down: outages and their end. agent: an agent was lost or is back. pending: a monitor still waits for its first heartbeat after three days; told once. degraded: into and out of that state. unknown: nothing is known of a monitor, for another reason than its agent.'
})

export const createChannelBodySchema = z
  .strictObject({
    kind: kindField,
    name: nameField(200),
    url: urlField,
    events: eventsField.default(['down', 'agent', 'pending'])
  })
  .meta({ id: 'NewChannel' })

export const patchChannelBodySchema = z
  .strictObject({
    name: nameField(200).optional(),
    url: urlField.optional(),
    events: eventsField.optional(),
    enabled: z.boolean().optional()
  })
  .meta({ id: 'ChannelChange' })

export const channelSchema = z
  .object({
    id: idField,
    kind: kindField,
    name: z.string(),
    url: z.string(),
    events: z.array(z.enum(CHANNEL_EVENTS)),
    enabled: z.boolean(),
    failingSince: timeField
      .nullable()
      .meta({ description: 'Since when no message was taken; null: the last one was.' }),
    createdAt: timeField
  })
  .meta({ id: 'Channel' })
export type ChannelAnswer = z.output<typeof channelSchema>

export const channelWithSecretSchema = channelSchema
  .extend({ secret: z.string().meta({ description: 'Verifies the signatures; shown in this answer only.' }) })
  .meta({ id: 'ChannelWithSecret' })

export const channelPageSchema = z
  .object({ data: z.array(channelSchema), nextCursor: nextCursorField })
  .meta({ id: 'ChannelPage' })

const deliveryParamsSchema = idParamsSchema.extend({ deliveryId: z.uuid() })

export const DELIVERY_STATUSES = ['waiting', 'delivered', 'failed'] as const

export const deliverySchema = z
  .object({
    id: idField.meta({ description: 'The webhook-id, the same for every try.' }),
    type: z.string(),
    body: z.string().meta({ description: 'What is posted, byte for byte.' }),
    status: z.enum(DELIVERY_STATUSES).meta({ description: 'failed: a test that failed, or given up after 24 hours.' }),
    attempts: z.number().int(),
    createdAt: timeField,
    lastAttemptAt: timeField.nullable(),
    nextAttemptAt: timeField.nullable().meta({ description: 'Null when there will be none.' }),
    statusCode: z.number().int().nullable().meta({ description: 'Of the last answer; null when none came.' }),
    error: z.string().nullable(),
    response: z.string().nullable().meta({ description: 'How the last answer began.' })
  })
  .meta({ id: 'Delivery' })
export type DeliveryAnswer = z.output<typeof deliverySchema>

export const deliveryPageSchema = z
  .object({ data: z.array(deliverySchema), nextCursor: nextCursorField })
  .meta({ id: 'DeliveryPage' })

export const alertRoutes = {
  listChannels: {
    method: 'GET',
    path: '/v1/alerts/channels',
    auth: 'channels:read',
    tag: 'Alerts',
    summary: 'List the channels by which people are told, newest first.',
    query: pageQuerySchema,
    answers: { 200: { description: 'One page.', schema: channelPageSchema } },
    problems: ['invalid_cursor']
  },
  createChannel: {
    method: 'POST',
    path: '/v1/alerts/channels',
    auth: 'channels:write',
    tag: 'Alerts',
    summary: 'Create a channel: a webhook, signed by Standard Webhooks.',
    body: createChannelBodySchema,
    answers: { 201: { description: 'Created.', schema: channelWithSecretSchema } },
    problems: ['limit_reached']
  },
  readChannel: {
    method: 'GET',
    path: '/v1/alerts/channels/{id}',
    auth: 'channels:read',
    tag: 'Alerts',
    summary: 'Read one channel.',
    params: idParamsSchema,
    answers: { 200: { description: 'The channel.', schema: channelSchema } }
  },
  patchChannel: {
    method: 'PATCH',
    path: '/v1/alerts/channels/{id}',
    auth: 'channels:write',
    tag: 'Alerts',
    summary: 'Change a channel. Its secret stays.',
    params: idParamsSchema,
    body: patchChannelBodySchema,
    answers: { 200: { description: 'The channel as it is now.', schema: channelSchema } }
  },
  deleteChannel: {
    method: 'DELETE',
    path: '/v1/alerts/channels/{id}',
    auth: 'channels:write',
    tag: 'Alerts',
    summary: 'Delete a channel with its deliveries; what still waits is not sent.',
    params: idParamsSchema,
    answers: DONE_ANSWER
  },
  rotateChannelSecret: {
    method: 'POST',
    path: '/v1/alerts/channels/{id}/rotate',
    auth: 'channels:write',
    tag: 'Alerts',
    summary: 'Give a channel a new secret; from now on every try is signed with it.',
    params: idParamsSchema,
    answers: { 200: { description: 'The channel with its new secret.', schema: channelWithSecretSchema } }
  },
  testChannel: {
    method: 'POST',
    path: '/v1/alerts/channels/{id}/test',
    auth: 'channels:write',
    tag: 'Alerts',
    summary: 'Send a message of the type channel.test now, once, and tell how it went.',
    params: idParamsSchema,
    answers: { 200: { description: 'How it went; a failure as well.', schema: deliverySchema } }
  },
  listDeliveries: {
    method: 'GET',
    path: '/v1/alerts/channels/{id}/deliveries',
    auth: 'channels:read',
    tag: 'Alerts',
    summary: 'List what was sent to a channel in the last 30 days, newest first.',
    params: idParamsSchema,
    query: pageQuerySchema,
    answers: { 200: { description: 'One page.', schema: deliveryPageSchema } },
    problems: ['invalid_cursor']
  },
  resendDelivery: {
    method: 'POST',
    path: '/v1/alerts/channels/{id}/deliveries/{deliveryId}/resend',
    auth: 'channels:write',
    tag: 'Alerts',
    summary: 'Send a message again as soon as may be, with its webhook-id, whatever became of it before.',
    params: deliveryParamsSchema,
    answers: { 202: { description: 'It waits to be sent.', schema: deliverySchema } }
  }
} as const satisfies Record<string, Route>
