import { z } from 'zod'
import { idField } from './fields.ts'
import type { Route } from './route.ts'

export const LIVE_TYPE = 'text/event-stream'

export const liveRoutes = {
  readLive: {
    method: 'GET',
    path: '/v1/live',
    auth: 'live',
    tag: 'Monitors',
    summary: 'Follow what happens, as server-sent events.',
    description:
      '`state` {monitorId,from,to,at,reason}, `heartbeat` (a row of the history), `presence` {agentId,presence,at}, `maintenance` {maintenanceId,active,at} (it began, ended or was changed), `resync` (something may have been missed: read anew). Heartbeats of the named monitor come in full, of the others the newest per monitor and second. `Last-Event-ID` goes on where a connection broke, for 5 minutes. A comment comes every 15 seconds. The stream ends when the caller may no longer see it.',
    query: z.strictObject({ monitorId: idField.optional() }),
    answers: {
      200: { description: 'The stream.', schema: z.string(), contentType: LIVE_TYPE, streams: [LIVE_TYPE] }
    },
    problems: ['not_found']
  }
} as const satisfies Record<string, Route>
