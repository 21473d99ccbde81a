import { z } from 'zod'
import { CLOSE } from '../protocol/close-codes.ts'
import {
  ackSchema,
  byeSchema,
  drainSchema,
  heartbeatsSchema,
  helloSchema,
  monitorsSchema,
  PROTOCOL,
  rejectSchema,
  SUBPROTOCOL,
  welcomeSchema
} from '../protocol/frames.ts'
import { heartbeatSchema, MAX_BATCH_BYTES } from '../protocol/heartbeat.ts'
import { VERSION } from './version.ts'

interface Frame {
  from: 'agent' | 'gateway'
  schema: z.ZodType
  summary: string
}

/** Every frame of the ingest protocol, by its `type`. */
export const FRAMES = {
  hello: {
    from: 'agent',
    schema: helloSchema,
    summary: `The first frame, within ${PROTOCOL.helloTimeoutMs / 1000} s.`
  },
  welcome: {
    from: 'gateway',
    schema: welcomeSchema,
    summary: 'What is acked already, the limits, and the monitors to check.'
  },
  heartbeats: {
    from: 'agent',
    schema: heartbeatsSchema,
    summary: `At most ${PROTOCOL.maxBatch} heartbeats. \`seq\` grows by 1.`
  },
  ack: { from: 'gateway', schema: ackSchema, summary: 'All frames up to `seq` are durable. Cumulative.' },
  reject: {
    from: 'gateway',
    schema: rejectSchema,
    summary: 'Before the ack: these items will never be accepted, the others are.'
  },
  monitors: { from: 'gateway', schema: monitorsSchema, summary: 'The monitor set or a check has changed.' },
  drain: { from: 'gateway', schema: drainSchema, summary: 'The gateway is about to restart; send nothing new.' },
  bye: { from: 'gateway', schema: byeSchema, summary: 'Just before a close: its code, and when to come back.' }
} as const satisfies Record<string, Frame>

type JsonObject = Record<string, unknown>

/**
 * The schemas of the frames and all they refer to, by their names. As what may be sent, not as what we send: readers
 * ignore unknown fields, so `additionalProperties` is only false where we refuse them.
 */
function schemas(): Record<string, JsonObject> {
  const found: Record<string, JsonObject> = {}
  for (const schema of [...Object.values(FRAMES).map((frame) => frame.schema), heartbeatSchema]) {
    const text = JSON.stringify(z.toJSONSchema(schema, { target: 'draft-7', io: 'input' }))
    Object.assign(found, JSON.parse(text.replaceAll('#/definitions/', '#/components/schemas/')).definitions)
  }
  // The envelope's schema leaves the items open, since each is judged by itself; a reader wants to see them.
  const { properties, ...envelope } = found.Heartbeats as JsonObject & { properties: Record<string, JsonObject> }
  const items = { ...properties.items, maxItems: PROTOCOL.maxBatch, items: { $ref: '#/components/schemas/Heartbeat' } }
  return { ...found, Heartbeats: { ...envelope, properties: { ...properties, items } } }
}

function payloadOf({ schema }: Frame): JsonObject {
  return { $ref: `#/components/schemas/${schema.meta()?.id}` }
}

function operations() {
  return Object.fromEntries(
    Object.entries(FRAMES).map(([name, { from }]) => [
      name,
      {
        action: from === 'agent' ? 'receive' : 'send',
        channel: { $ref: '#/channels/ingest' },
        messages: [{ $ref: `#/channels/ingest/messages/${name}` }]
      }
    ])
  )
}

/** AsyncAPI 3.0 of the ingest protocol, as the gateway sees it; `ingestUrl` is where agents connect. */
export function buildAsyncApi(ingestUrl: string): JsonObject {
  const { protocol, host, pathname } = new URL(ingestUrl)
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Pulsegate ingest protocol',
      version: VERSION,
      description:
        `Text frames, one JSON object each, over a WebSocket with the subprotocol \`${SUBPROTOCOL}\`. ` +
        'A heartbeat is acked when it is durable. Resend what was not acked: a heartbeat is known by monitor, source and ' +
        'timestamp, so nothing is counted twice.',
      license: { name: 'Apache-2.0' }
    },
    defaultContentType: 'application/json',
    servers: {
      ingest: {
        host,
        pathname,
        protocol: protocol.slice(0, -1),
        security: [{ $ref: '#/components/securitySchemes/apiKey' }]
      }
    },
    channels: {
      ingest: {
        address: '/',
        description: `A frame has at most ${MAX_BATCH_BYTES} bytes. At most ${PROTOCOL.maxInFlight} frames may be unacked.`,
        messages: Object.fromEntries(
          Object.keys(FRAMES).map((name) => [name, { $ref: `#/components/messages/${name}` }])
        ),
        bindings: {
          ws: {
            method: 'GET',
            headers: {
              type: 'object',
              required: ['Authorization'],
              properties: {
                Authorization: { type: 'string', description: 'Bearer and the API key.' },
                'Sec-WebSocket-Protocol': { type: 'string', const: SUBPROTOCOL }
              }
            },
            bindingVersion: '0.1.0'
          }
        },
        'x-close-codes': Object.values(CLOSE)
      }
    },
    operations: operations(),
    components: {
      schemas: schemas(),
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, checked before the upgrade.' }
      },
      messages: Object.fromEntries(
        Object.entries(FRAMES).map(([name, frame]) => [
          name,
          { name, summary: frame.summary, payload: payloadOf(frame) }
        ])
      )
    }
  }
}
