import { type AgentMonitor, type GatewayFrame, PROTOCOL } from '../shared/protocol/frames.ts'
import { parseTimestamp } from '../shared/protocol/timestamp.ts'
import { HEALTHY_MS } from './backoff.ts'
import type { BatchLimit, Suspect } from './batch-limit.ts'
import type { Clock, GatewayTime } from './clock.ts'
import { readGatewayFrame } from './gateway-frames.ts'
import type { Log } from './log.ts'
import type { Outbox } from './outbox.ts'
import { createSender, type Sender } from './sender.ts'
import { openSocket, type Socket, type SocketEnd } from './socket.ts'

/** Where and as whom to connect. */
export interface ConnectionSettings {
  readonly ingestUrl: string
  readonly apiKey: string
  /** Every authority to trust; absent means Node's own list. */
  readonly ca?: readonly string[] | undefined
}

export type Rejections = Extract<GatewayFrame, { type: 'reject' }>['errors']
type Welcome = Extract<GatewayFrame, { type: 'welcome' }>

export interface SessionEnd {
  readonly socket: SocketEnd
  readonly bye: { readonly code: number; readonly retryAfterMs?: number | undefined } | null
  /** How long the connection was welcome, in milliseconds. */
  readonly healthyMs: number
  readonly suspect: Suspect | null
  /** The gateway had asked to leave. */
  readonly drained: boolean
}

export interface SessionDeps {
  readonly settings: ConnectionSettings
  readonly agent: { readonly name: string; readonly version: string }
  readonly outbox: Outbox
  readonly batch: BatchLimit
  readonly clock: Clock
  readonly time: GatewayTime
  readonly log: Log
  onWelcome(): void
  onMonitors(monitors: AgentMonitor[]): void
  onReject(seq: number, errors: Rejections): void
  /** The gateway will close soon; nothing more is sent to it. */
  onDrain(): void
  onEnd(end: SessionEnd): void
}

/** One socket, from its opening to its end. */
export interface Session {
  /** Sends what the outbox holds, as far as the gateway's limits allow. */
  flush(): void
  /** Sends what is left and closes once all of it is acknowledged. */
  finish(): void
  /** Closes now. */
  leave(): void
}

interface Talk {
  readonly deps: SessionDeps
  readonly socket: Socket
  readonly cancels: Set<() => void>
  /** Present from the welcome on. */
  sender: Sender | null
  phase: 'hello' | 'open' | 'draining' | 'closing'
  finishing: boolean
  drained: boolean
  helloAt: number
  heardAt: number
  welcomedAt: number
  bye: SessionEnd['bye']
}

const WATCH_MS = 5000
/** A clock that was set, or a machine that slept: the gateway's time is read anew. */
const JUMP_MS = 5000
/** A clock this wrong is worth a word. */
const SKEW_MS = 2000
const CLOSE_MS = 1000

function later(talk: Talk, ms: number, callback: () => void): void {
  const cancel = talk.deps.clock.after(ms, () => {
    talk.cancels.delete(cancel)
    callback()
  })
  talk.cancels.add(cancel)
}

function leave(talk: Talk): void {
  if (talk.phase === 'closing') return
  talk.phase = 'closing'
  talk.socket.close(1000, 'bye')
  later(talk, CLOSE_MS, () => talk.socket.abort())
}

function abort(talk: Talk, why: string): void {
  talk.deps.log.warn({}, why)
  talk.phase = 'closing'
  talk.socket.abort()
}

function leaveWhenSettled(talk: Talk): void {
  const waits = talk.phase === 'draining' ? talk.sender?.inFlight() : talk.deps.outbox.size()
  if (waits === 0 && (talk.drained || talk.finishing)) leave(talk)
}

function flush(talk: Talk): void {
  if (talk.phase !== 'open' || talk.sender === null) return
  if (!talk.sender.flush()) abort(talk, 'Heartbeats were dropped while they were sent again; reconnecting.')
}

function settle(talk: Talk, seq: number): void {
  if (!talk.sender?.ack(seq)) talk.deps.log.debug({ seq }, 'an ack for a frame that was not sent here is ignored')
  flush(talk)
  leaveWhenSettled(talk)
}

function readTime(talk: Talk, text: string): void {
  const { clock, time, log } = talk.deps
  const gatewayNow = parseTimestamp(text)
  if (Number.isNaN(gatewayNow)) {
    log.warn({ time: text }, 'The time of the gateway is not understood.')
    return
  }
  time.correct(gatewayNow, clock.monotonic() - talk.helloAt)
  const skewMs = time.skewMs()
  if (Math.abs(skewMs) < SKEW_MS) return
  log.warn({ skewMs }, 'The clock of this machine is wrong; timestamps follow the gateway.')
}

function onWelcome(talk: Talk, frame: Welcome): void {
  const { clock, outbox, log } = talk.deps
  readTime(talk, frame.time)
  talk.phase = 'open'
  talk.welcomedAt = clock.monotonic()
  talk.sender = createSender({ ...talk.deps, socket: talk.socket, onRoom: () => flush(talk) }, frame)
  outbox.ack(frame.acked)
  log.info({ monitors: frame.monitors.length, connection: frame.connection }, 'Connected to the gateway.')
  talk.deps.onWelcome()
  talk.deps.onMonitors(frame.monitors)
  flush(talk)
  leaveWhenSettled(talk)
}

function onDrain(talk: Talk, withinMs: number): void {
  if (talk.phase !== 'open') return
  talk.phase = 'draining'
  talk.drained = true
  talk.deps.onDrain()
  later(talk, withinMs, () => leave(talk))
  leaveWhenSettled(talk)
}

function onFrame(talk: Talk, frame: GatewayFrame): void {
  if (frame.type === 'bye') {
    talk.bye = { code: frame.code, retryAfterMs: frame.retryAfterMs }
    return
  }
  if (talk.sender === null) {
    if (frame.type === 'welcome') onWelcome(talk, frame)
    return
  }
  switch (frame.type) {
    case 'welcome':
      break
    case 'ack':
      settle(talk, frame.seq)
      break
    case 'reject':
      talk.deps.onReject(frame.seq, frame.errors)
      break
    case 'monitors':
      talk.deps.onMonitors(frame.monitors)
      break
    case 'drain':
      onDrain(talk, frame.withinMs)
  }
}

function onText(talk: Talk, text: string): void {
  const { clock, log } = talk.deps
  talk.heardAt = clock.monotonic()
  const reading = readGatewayFrame(text)
  switch (reading.kind) {
    case 'unknown':
      log.debug({ type: reading.type }, 'a frame of an unknown type is ignored')
      break
    case 'malformed':
      log.warn({ detail: reading.detail }, 'A frame of the gateway is not understood and is ignored.')
      break
    case 'frame': {
      const monitors = reading.strangeMonitors
      if (monitors > 0) log.warn({ monitors }, 'Some monitors are not understood; a newer agent may know them.')
      onFrame(talk, reading.frame)
    }
  }
}

/** Why this connection should be given up: a peer that is gone without a word, a clock that was set; null while all is well. */
function findTrouble(talk: Talk): string | null {
  const { clock, time } = talk.deps
  if (clock.monotonic() - talk.heardAt >= PROTOCOL.silenceMs) {
    return 'Nothing was heard from the gateway for 60 s; reconnecting.'
  }
  if (talk.sender !== null && Math.abs(time.jumpMs()) > JUMP_MS) {
    return 'The clock of this machine has jumped; reconnecting to read the time of the gateway.'
  }
  return null
}

function watch(talk: Talk): void {
  if (talk.phase === 'closing') return
  const { clock, batch } = talk.deps
  const trouble = findTrouble(talk)
  if (trouble !== null) {
    abort(talk, trouble)
    return
  }
  if (talk.sender !== null && clock.monotonic() - talk.welcomedAt >= HEALTHY_MS) batch.restore()
  const silentMs = clock.monotonic() - talk.heardAt
  later(talk, Math.min(WATCH_MS, PROTOCOL.silenceMs - silentMs), () => watch(talk))
}

function onOpen(talk: Talk): void {
  const { clock, outbox, agent } = talk.deps
  talk.helloAt = clock.monotonic()
  talk.heardAt = talk.helloAt
  const hello = { type: 'hello', stream: outbox.stream, first: outbox.first(), agent }
  talk.socket.send(JSON.stringify(hello), () => undefined)
  later(talk, PROTOCOL.helloTimeoutMs, () => {
    if (talk.sender === null) abort(talk, 'The gateway did not say welcome within 10 s; reconnecting.')
  })
  watch(talk)
}

function onEnd(talk: Talk, socket: SocketEnd): void {
  for (const cancel of talk.cancels) cancel()
  talk.cancels.clear()
  talk.phase = 'closing'
  talk.deps.onEnd({
    socket,
    bye: talk.bye,
    healthyMs: talk.sender === null ? 0 : talk.deps.clock.monotonic() - talk.welcomedAt,
    suspect: talk.sender?.suspect() ?? null,
    drained: talk.drained
  })
}

/** Connects once; ends with exactly one `onEnd`, never earlier than the caller has the session in hand. */
export function startSession(deps: SessionDeps): Session {
  const { ingestUrl, apiKey, ca } = deps.settings
  const userAgent = `Pulsegate-Agent/${deps.agent.version}`
  const socket = openSocket(
    { url: ingestUrl, apiKey, ca, userAgent },
    {
      onOpen: () => onOpen(talk),
      onText: (text) => onText(talk, text),
      onPing: () => {
        talk.heardAt = deps.clock.monotonic()
      },
      onEnd: (how) => onEnd(talk, how)
    }
  )
  const talk: Talk = {
    deps,
    socket,
    cancels: new Set(),
    sender: null,
    phase: 'hello',
    finishing: false,
    drained: false,
    helloAt: 0,
    heardAt: 0,
    welcomedAt: 0,
    bye: null
  }
  return {
    flush: () => flush(talk),
    finish() {
      talk.finishing = true
      flush(talk)
      leaveWhenSettled(talk)
    },
    leave: () => leave(talk)
  }
}
