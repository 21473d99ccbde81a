import { z } from 'zod'
import { MAX_ITEMS, rejectionSchema } from './heartbeat.ts'

/** The WebSocket subprotocol; a client that offers none is taken to speak it. */
export const SUBPROTOCOL = 'heartbeat.v1'

/** Numbers of the protocol; `welcome` tells the agent the first two. */
export const PROTOCOL = {
  maxBatch: MAX_ITEMS,
  maxInFlight: 64,
  helloTimeoutMs: 10_000,
  pingIntervalMs: 25_000,
  silenceMs: 60_000,
  durableWithinMs: 5000
} as const

const timestampText = z.string().meta({ format: 'date-time' })
const sequence = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER)

export const MONITOR_KINDS = ['http', 'tcp', 'dns', 'tls', 'ping', 'command', 'heartbeat', 'push'] as const
export type MonitorKind = (typeof MONITOR_KINDS)[number]

/** What a check needs beside its target. All optional; strict, so that a typing error is told and not ignored. */
export const monitorSettingsSchema = z
  .strictObject({
    method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']).optional(),
    expectedStatuses: z
      .array(z.number().int().min(100).max(599))
      .min(1)
      .max(50)
      .optional()
      .meta({ description: 'Statuses that count as up; 200–399 when absent.' }),
    degradedOverMs: z
      .number()
      .int()
      .min(1)
      .optional()
      .meta({ description: 'A good answer slower than this is degraded.' })
  })
  .meta({ id: 'MonitorSettings' })
export type MonitorSettings = z.infer<typeof monitorSettingsSchema>

/** A monitor as the agent sees it. `command` has neither target nor settings: the agent's own file names the command. */
export const agentMonitorSchema = z
  .object({
    monitorId: z.uuid(),
    name: z.string(),
    kind: z.enum(MONITOR_KINDS),
    target: z.string().optional(),
    intervalSeconds: z.number(),
    timeoutSeconds: z.number(),
    settings: monitorSettingsSchema.loose().optional()
  })
  .meta({ id: 'AgentMonitor' })
export type AgentMonitor = z.infer<typeof agentMonitorSchema>

/** PostgreSQL keeps no U+0000 in a text. */
function agentText(longest: number) {
  return z
    .string()
    .max(longest)
    .refine((text) => !text.includes('\u0000'), 'must not contain U+0000')
}

export const helloSchema = z
  .object({
    type: z.literal('hello'),
    stream: z.uuid().meta({ description: 'One id for the life of one spool.' }),
    first: sequence.meta({ description: 'The lowest seq that the agent will still send.' }),
    agent: z.object({ name: agentText(200).optional(), version: agentText(100).optional() }).optional()
  })
  .meta({ id: 'Hello' })

/** The envelope only: items are checked one by one (`heartbeatSchema`), a bad one never closes the socket. */
export const heartbeatsSchema = z
  .object({
    type: z.literal('heartbeats'),
    seq: sequence,
    sentAt: timestampText.optional(),
    items: z.array(z.unknown()).meta({ description: 'At most 500 Heartbeat objects, checked one by one.' })
  })
  .meta({ id: 'Heartbeats' })

export const welcomeSchema = z
  .object({
    type: z.literal('welcome'),
    connection: z.uuid(),
    acked: z.number().int().min(0),
    maxBatch: z.number().int(),
    maxInFlight: z.number().int(),
    time: timestampText,
    monitors: z.array(agentMonitorSchema)
  })
  .meta({ id: 'Welcome' })
export const ackSchema = z.object({ type: z.literal('ack'), seq: z.number().int().min(0) }).meta({ id: 'Ack' })
export const rejectSchema = z
  .object({ type: z.literal('reject'), seq: sequence, errors: z.array(rejectionSchema) })
  .meta({ id: 'Reject' })
export const monitorsSchema = z
  .object({ type: z.literal('monitors'), monitors: z.array(agentMonitorSchema) })
  .meta({ id: 'Monitors' })
export const drainSchema = z
  .object({ type: z.literal('drain'), withinMs: z.number().int().min(0) })
  .meta({ id: 'Drain' })
export const byeSchema = z
  .object({ type: z.literal('bye'), code: z.number().int(), retryAfterMs: z.number().int().min(0).optional() })
  .meta({ id: 'Bye' })

export const agentFrameSchema = z.discriminatedUnion('type', [helloSchema, heartbeatsSchema])
export const gatewayFrameSchema = z.discriminatedUnion('type', [
  welcomeSchema,
  ackSchema,
  rejectSchema,
  monitorsSchema,
  drainSchema,
  byeSchema
])
export type Hello = z.infer<typeof helloSchema>
export type HeartbeatsFrame = z.infer<typeof heartbeatsSchema>
export type AgentFrame = z.infer<typeof agentFrameSchema>
export type GatewayFrame = z.infer<typeof gatewayFrameSchema>
