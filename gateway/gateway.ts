import { v7 as uuidv7 } from 'uuid'
import { type Changes, publishChange } from '../shared/changes.ts'
import type { CountedLimit } from '../shared/counts.ts'
import type { Database } from '../shared/db.ts'
import { AppError } from '../shared/errors.ts'
import type { Callers } from '../shared/identity/callers.ts'
import { createKeyUse, type KeyUse } from '../shared/identity/key-use.ts'
import type { Door } from '../shared/ingest/accept.ts'
import type { Log } from '../shared/log.ts'
import type { Metrics } from '../shared/metrics.ts'
import { CLOSE } from '../shared/protocol/close-codes.ts'
import { MAX_BATCH_BYTES } from '../shared/protocol/heartbeat.ts'
import type { RedisClient } from '../shared/redis.ts'
import { TLS12_CIPHERS } from '../shared/tls.ts'
import { Connections } from './connections.ts'
import { type CorkHolder, openCorkHolder } from './cork-holder.ts'
import { greet } from './greeter.ts'
import { listen } from './listen.ts'
import { createPresenceKeeper, type PresenceKeeper } from './presence.ts'
import { createResume, type Resume } from './resume.ts'
import { createReviewer, type Reviewer } from './reviewer.ts'
import { Session, type SessionHost, type SocketData } from './session.ts'
import { createSightings, type Sightings } from './sightings.ts'
import { handleUpgrade, refuse, type UpgradeDeps } from './upgrade.ts'
import { type HttpResponse, loadUws, type WebSocket, type WebSocketBehavior } from './uws.ts'

export interface GatewayDeps {
  port: number
  /** Certificate and key files, or null where a trusted proxy ends TLS. */
  tls: { certFile: string; keyFile: string } | null
  /** Longest time that heartbeats under way may take when the gateway stops, in milliseconds. */
  drainMs: number
  db: Database
  redis: RedisClient
  prefix: string
  callers: Callers
  changes: Changes
  door: Door
  /** Refused upgrades, by network. */
  refusals: CountedLimit
  metrics: Metrics
  log: Log
  /** Epoch ms. */
  clock: () => number
  /** Milliseconds that never jump. */
  monotonic?: () => number
  random: () => number
}

export interface Gateway {
  readonly port: number
  /** How many agents are connected. */
  sockets(): number
  /** Stops listening, lets what is under way be acknowledged, asks agents to come back elsewhere, closes. */
  stop(): Promise<void>
}

/** A frame over our own limit still arrives whole, so that it is answered with 1009; over this one uWebSockets.js just cuts. */
const TRANSPORT_MAX_BYTES = 4 * MAX_BATCH_BYTES
/** Bytes that may wait for one slow reader. */
const MAX_BACKPRESSURE = 1024 * 1024
const TICK_MS = 1000
/** How often `last_seen_at` is written for those who are connected, in ticks. */
const SEEN_TICKS = 30

/** Acknowledgements wait for the end of the batch that settles them: one frame a socket, not one a heartbeat. */
function createAckQueue(): (session: Session) => void {
  let waiting: Session[] = []
  const flush = () => {
    const sessions = waiting
    waiting = []
    for (const session of sessions) session.sendAck()
  }
  return (session) => {
    if (waiting.push(session) === 1) queueMicrotask(flush)
  }
}

function answerPlainHttp(res: HttpResponse, path: string): void {
  refuse(res, new AppError(path === '/' ? 'upgrade_required' : 'not_found'))
}

function until(condition: () => boolean, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const deadline = performance.now() + ms
    const check = setInterval(() => {
      if (!condition() && performance.now() < deadline) return
      clearInterval(check)
      resolve()
    }, 20)
  })
}

interface Parts {
  deps: GatewayDeps
  monotonic: () => number
  connections: Connections
  resume: Resume
  sightings: Sightings
  presence: PresenceKeeper
  keyUse: KeyUse
  reviewer: Reviewer
  corkHolder: CorkHolder
}

function createParts(deps: GatewayDeps, corkHolder: CorkHolder): Parts {
  const connections = new Connections()
  const monotonic = deps.monotonic ?? (() => performance.now())
  return {
    deps,
    monotonic,
    connections,
    resume: createResume({ client: deps.redis, prefix: deps.prefix, log: deps.log }),
    sightings: createSightings(deps.db, deps.log, deps.clock),
    presence: createPresenceKeeper({ ...deps, connections, monotonic }),
    keyUse: createKeyUse(deps),
    reviewer: createReviewer({ ...deps, connections }),
    corkHolder
  }
}

function createHost({ deps, monotonic, resume, sightings }: Parts): SessionHost {
  const closes = deps.metrics.counter('pulsegate_gateway_closes_total', 'code')
  return {
    door: deps.door,
    monotonic,
    random: deps.random,
    refreshed: (caller) => deps.callers.refreshed(caller),
    greet: (session, hello) => greet(session, hello, { ...deps, resume, sightings }),
    ackSoon: createAckQueue(),
    acknowledged: (session) => resume.note(session),
    onClosing: (code) => closes.inc({ code: String(code) })
  }
}

/** A socket opened: older ones of the same agent give way, here at once and elsewhere by a message. */
function opened(ws: WebSocket<SocketData>, { deps, connections, keyUse, presence }: Parts): void {
  const { session } = ws.getUserData()
  session.ws = ws
  connections.add(session)
  const { kind, sourceId, organizationId, keyId } = session.caller
  if (keyId !== null) keyUse.note(keyId)
  presence.changed(sourceId)
  if (kind !== 'agent') return
  connections.closeOlder(sourceId, session.connection)
  const change = { type: 'agent_connected', organizationId, agentId: sourceId, connection: session.connection } as const
  publishChange(deps.redis, deps.prefix, change).catch((error) =>
    deps.log.warn({ err: error }, 'other gateways were not told of a new socket')
  )
}

function behaviour(parts: Parts): WebSocketBehavior<SocketData> {
  const { deps, monotonic, connections } = parts
  const host = createHost(parts)
  const refused = deps.metrics.counter('pulsegate_gateway_upgrades_refused_total', 'code')
  const upgradeDeps: UpgradeDeps = {
    callers: deps.callers,
    refusals: deps.refusals,
    behindProxy: deps.tls === null,
    log: deps.log,
    refuseSocket: (caller) => connections.refuseSocket(caller),
    onRefused: (code) => refused.inc({ code }),
    corkHolder: parts.corkHolder
  }
  const heard = (ws: WebSocket<SocketData>) => {
    ws.getUserData().session.heardAt = monotonic()
  }
  return {
    maxPayloadLength: TRANSPORT_MAX_BYTES,
    maxBackpressure: MAX_BACKPRESSURE,
    closeOnBackpressureLimit: true,
    // Our own clock decides (Connections.tick); this one only clears what escaped it.
    idleTimeout: 120,
    sendPingsAutomatically: false,
    upgrade: (res, req, context) =>
      handleUpgrade(res, req, context, upgradeDeps, ({ caller, keyDigest }) => ({
        session: new Session(host, caller, keyDigest, uuidv7())
      })),
    open: (ws) => opened(ws, parts),
    message: (ws, message, isBinary) => ws.getUserData().session.receive(message, isBinary),
    ping: heard,
    pong: heard,
    close: (ws) => {
      const { session } = ws.getUserData()
      session.closed()
      connections.remove(session)
      parts.presence.changed(session.caller.sourceId)
      parts.resume.finish(session)
    }
  }
}

/** Pings, deadlines, and once in a while the time that connected agents were last heard of. */
function startClock({ deps, monotonic, connections, reviewer, sightings, keyUse, presence }: Parts): NodeJS.Timeout {
  const sockets = deps.metrics.gauge('pulsegate_gateway_sockets')
  let ticks = 0
  return setInterval(() => {
    const now = monotonic()
    sockets.set(connections.size)
    reviewer.review(connections.tick(now))
    presence.tick()
    ticks = (ticks + 1) % SEEN_TICKS
    if (ticks !== 0) return
    for (const { heardAt, caller } of connections.all()) {
      if (now - heardAt >= SEEN_TICKS * TICK_MS) continue
      sightings.note(caller.sourceId, null)
      if (caller.keyId !== null) keyUse.note(caller.keyId)
    }
  }, TICK_MS)
}

/** Lets what is under way be acknowledged, asks agents to come back elsewhere, closes. */
async function drain({ deps, connections }: Parts): Promise<void> {
  for (const session of connections.all()) session.send({ type: 'drain', withinMs: deps.drainMs })
  await until(() => [...connections.all()].every((session) => session.inFlight === 0), deps.drainMs)
  for (const session of [...connections.all()]) session.close(CLOSE.restart)
  // A peer that does not answer the close is cut, or it would hold the process.
  await until(() => connections.size === 0, 1000)
  for (const session of [...connections.all()]) session.ws?.close()
}

export async function startGateway(deps: GatewayDeps): Promise<Gateway> {
  const { module: uws, build } = loadUws()
  deps.log.info({ build }, 'WebSocket server')
  const parts = createParts(deps, await openCorkHolder(uws))
  const app = deps.tls
    ? uws.SSLApp({ cert_file_name: deps.tls.certFile, key_file_name: deps.tls.keyFile, ssl_ciphers: TLS12_CIPHERS })
    : uws.App()
  app.ws<SocketData>('/*', behaviour(parts))
  app.any('/*', (res, req) => answerPlainHttp(res, req.getUrl()))
  const token = await listen(app, deps.port)
  const clockwork = startClock(parts)
  return {
    port: uws.us_socket_local_port(token),
    sockets: () => parts.connections.size,
    stop: async () => {
      uws.us_listen_socket_close(token)
      await drain(parts)
      clearInterval(clockwork)
      parts.reviewer.stop()
      await parts.resume.stop()
      await parts.sightings.stop()
      await parts.presence.stop()
      await parts.keyUse.stop()
      parts.corkHolder.close()
    }
  }
}
