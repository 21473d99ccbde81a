import { FRAMES } from '../shared/contract/asyncapi.ts'
import { BODY_LIMIT } from '../shared/contract/route.ts'
import { CLOSE, type ClientAction } from '../shared/protocol/close-codes.ts'
import { PROTOCOL, SUBPROTOCOL } from '../shared/protocol/frames.ts'
import {
  ITEM_FAULTS,
  MAX_AGE_MS,
  MAX_BATCH_BYTES,
  MAX_FUTURE_MS,
  MAX_ITEMS,
  MAX_MESSAGE_LENGTH
} from '../shared/protocol/heartbeat.ts'

const ACTIONS: Record<ClientAction, string> = {
  retry:
    'Reconnect with back-off: a random time up to 1 s, growing to 60 s; from the start again after 60 s of health.',
  'return-soon': 'Reconnect after a random 0–5 s.',
  hold: 'Say it in one sentence, keep checking into the spool, try again hourly and on new configuration.',
  contend: 'As `retry`, and say that another process uses this identity.'
}

function table(head: string[], rows: Array<Array<string | number>>): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`).join('\n')
}

function seconds(ms: number): string {
  return `${ms / 1000} s`
}

const LIMITS: Array<[string, string]> = [
  ['Heartbeats in one frame or one POST', `${MAX_ITEMS}`],
  ['Bytes of one frame or one heartbeat POST', `${MAX_BATCH_BYTES}`],
  ['Bytes of other request bodies', `${BODY_LIMIT}`],
  ['Unacknowledged frames of one socket', `${PROTOCOL.maxInFlight}`],
  ['Time to `hello`', seconds(PROTOCOL.helloTimeoutMs)],
  ['The gateway pings every', seconds(PROTOCOL.pingIntervalMs)],
  ['Time without a whole frame or a pong that ends a socket', seconds(PROTOCOL.silenceMs)],
  ['A frame is durable within, or the socket ends with 1013', seconds(PROTOCOL.durableWithinMs)],
  ['Characters of `message`', `${MAX_MESSAGE_LENGTH}`],
  ['`timestamp` ahead of the receiver', seconds(MAX_FUTURE_MS)],
  ['Age of `timestamp` over HTTP', `${MAX_AGE_MS / 3_600_000} h`],
  ['Age of `timestamp` over a socket', "the plan's retention of raw heartbeats"]
]

const CONVERSATION = `## A conversation

The agent begins a new stream, sends two frames of which the second holds a bad item, and is acknowledged for both. Ids
are shortened here. An agent that reconnects sends \`first\` and goes on from \`acked\` + 1.

    agent    {"type":"hello","stream":"8f14…","first":1,"agent":{"name":"web-1","version":"0.1.0"}}
    gateway  {"type":"welcome","connection":"01a1…","maxBatch":500,"maxInFlight":64,"time":"2026-11-21T10:00:00.000Z",
              "monitors":[{"monitorId":"01a2…","name":"My website","kind":"http","target":"https://example.com",
              "intervalSeconds":60,"timeoutSeconds":10,"settings":{}}],"acked":0}
    agent    {"type":"heartbeats","seq":1,"items":[{"monitorId":"01a2…","status":"up","latency":12.5,
              "timestamp":"2026-11-21T10:00:01.000Z"}]}
    agent    {"type":"heartbeats","seq":2,"items":[{"monitorId":"01a2…","status":"fine","latency":9,
              "timestamp":"2026-11-21T10:01:01.000Z"}]}
    gateway  {"type":"reject","seq":2,"errors":[{"index":0,"code":"invalid_status","detail":"…"}]}
    gateway  {"type":"ack","seq":2}`

/** docs/protocol.md, whole. */
export function protocolPage(): string {
  const frames = Object.entries(FRAMES).map(([name, { from, summary }]) => [`\`${name}\``, from, summary])
  const closes = Object.values(CLOSE).map(({ code, reason, meaning, action }) => [
    code,
    `\`${reason}\``,
    meaning,
    `\`${action}\``
  ])
  const items = Object.entries(ITEM_FAULTS).map(([code, detail]) => [`\`${code}\``, detail])
  const actions = Object.entries(ACTIONS).map(([action, words]) => [`\`${action}\``, words])
  return `<!-- Generated from shared/protocol by \`npm run generate\`. Change it there. -->
# The ingest protocol

An agent opens a WebSocket at \`{ingest_url}/\` with \`Authorization: Bearer <API key>\`, which is checked before the
upgrade, and the subprotocol \`${SUBPROTOCOL}\`. Both sides send text frames, one JSON object each. What each frame holds
is in [asyncapi.json](asyncapi.json).

A heartbeat is known by its monitor, its source and its timestamp. So a frame that was not acknowledged is simply sent
again, on the same or another socket; whatever was known already counts as accepted and is not stored twice.

## Frames

${table(['frame', 'from', 'meaning'], frames)}

\`seq\` counts the frames of one stream, up by 1. \`hello.first\` is the lowest \`seq\` that the agent will still send;
\`welcome.acked\` is the highest that the gateway remembers. Unknown fields of a frame, and at the agent unknown frames, are
ignored; the fields of a heartbeat are strict.

${CONVERSATION}

## Faults of one heartbeat

The same on every way in. The others of the batch are accepted all the same.

${table(['code', 'what to do'], items)}

## Close codes

${table(['code', 'reason', 'meaning', 'the client'], closes)}

${table(['the client', 'does'], actions)}

A refused upgrade with 401 or 403 is answered like \`hold\`. Other codes, 1000, 1001 and 1006 mean \`retry\`.

## Limits

${table(['what', 'limit'], LIMITS)}
`
}
