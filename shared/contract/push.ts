import { z } from 'zod'
import { MONITOR_STATES } from './monitors.ts'
import type { Route } from './route.ts'

/** Largest body of a push, in bytes; its first 10,000 are kept as the message. */
export const PUSH_BODY_LIMIT = 1_048_576
export const PUSH_MESSAGE_BYTES = 10_000
/** Largest `ping`, in milliseconds (Uptime Kuma's bound). */
export const MAX_PING_MS = 100_000_000_000

// Faults keep the dialect's own shape, so nothing here may fail before the handler: every field is a loose text.
const value = z.union([z.string(), z.array(z.string())]).optional()
export const pushQuerySchema = z.object({
  status: value.meta({ description: 'up (default), down or degraded.' }),
  msg: value.meta({ description: 'A message; the body when absent.' }),
  ping: value.meta({ description: 'Latency in milliseconds.' }),
  rid: value.meta({ description: 'Id of the run that this belongs to, when runs of a job overlap.' })
})
export type PushQuery = z.output<typeof pushQuerySchema>

export const pushParamsSchema = z.object({ token: z.string() })
export const pushSignalParamsSchema = z.object({
  token: z.string(),
  signal: z.string().meta({ description: 'fail, start, log, or an exit code from 0 to 255.' })
})

export const pushedSchema = z
  .object({ ok: z.literal(true), state: z.enum(MONITOR_STATES).optional() })
  .meta({ id: 'Pushed' })
export const kumaPushedSchema = z.object({ ok: z.literal(true) }).meta({ id: 'PushedKuma' })
export const pushFaultSchema = z.object({ ok: z.literal(false), msg: z.string() }).meta({ id: 'PushFault' })

const pushAnswers = {
  200: { description: 'Durable. With Accept: text/plain just OK.', schema: pushedSchema },
  400: { description: 'A parameter is not right.', schema: pushFaultSchema },
  404: { description: 'Unknown token.', schema: pushFaultSchema },
  413: { description: 'The body is larger than 1 MiB.', schema: pushFaultSchema },
  429: { description: 'Too many requests; try again after Retry-After.', schema: pushFaultSchema },
  503: { description: 'Nothing durable could be written; try again after Retry-After.', schema: pushFaultSchema }
} as const

export const pushRoutes = {
  push: {
    method: 'ANY',
    path: '/push/{token}',
    auth: 'none',
    counted: 'by handler',
    tag: 'Push URLs',
    summary: 'Report by a push URL. No header is needed and any method counts.',
    params: pushParamsSchema,
    query: pushQuerySchema,
    bodyLimit: PUSH_BODY_LIMIT,
    answers: pushAnswers
  },
  pushSignal: {
    method: 'ANY',
    path: '/push/{token}/{signal}',
    auth: 'none',
    counted: 'by handler',
    tag: 'Push URLs',
    summary: 'Report a failure, a start, a log line or an exit code.',
    params: pushSignalParamsSchema,
    query: pushQuerySchema,
    bodyLimit: PUSH_BODY_LIMIT,
    answers: pushAnswers
  },
  pushKuma: {
    method: 'ANY',
    path: '/api/push/{token}',
    auth: 'none',
    counted: 'by handler',
    tag: 'Push URLs',
    summary: "Report by a push URL in Uptime Kuma's dialect.",
    params: pushParamsSchema,
    query: pushQuerySchema,
    answers: {
      200: { description: 'Durable.', schema: kumaPushedSchema },
      404: { description: 'Unknown token, or a parameter is not right.', schema: pushFaultSchema },
      429: { description: 'Too many requests; try again after Retry-After.', schema: pushFaultSchema },
      503: { description: 'Nothing durable could be written; try again after Retry-After.', schema: pushFaultSchema }
    }
  }
} as const satisfies Record<string, Route>
