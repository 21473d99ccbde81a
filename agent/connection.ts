import type { AgentMonitor } from '../shared/protocol/frames.ts'
import { backoffMs, HEALTHY_MS } from './backoff.ts'
import { type BatchLimit, createBatchLimit } from './batch-limit.ts'
import { type Clock, createGatewayTime, type GatewayTime } from './clock.ts'
import type { Log } from './log.ts'
import type { Outbox } from './outbox.ts'
import { type ConnectionSettings, type Rejections, type Session, type SessionEnd, startSession } from './session.ts'
import { judgeEnd, type Verdict } from './verdict.ts'

/**
 * connecting (dialling, hello) -> welcomed -> draining (the gateway or this agent is about to leave) -> waiting (pause
 * before the next attempt) -> connecting …; stopped is final.
 */
export type ConnectionState = 'connecting' | 'welcomed' | 'draining' | 'waiting' | 'stopped'

export interface ConnectionDeps {
  readonly settings: ConnectionSettings
  /** Sent in hello. */
  readonly agent: { readonly name: string; readonly version: string }
  readonly outbox: Outbox
  readonly clock: Clock
  /** From 0 up to, not including, 1. */
  readonly random: () => number
  readonly log: Log
  /** The whole set, after each welcome and each change. */
  onMonitors(monitors: AgentMonitor[]): void
  onState?(state: ConnectionState): void
}

export interface Connection {
  /** The gateway's time, epoch milliseconds; the machine's own before the first welcome. */
  now(): number
  state(): ConnectionState
  /** To be called after heartbeats were added to the outbox. */
  flush(): void
  /** Takes new settings and connects with them at once. */
  reconfigure(settings: ConnectionSettings): void
  /** Sends what is left and waits at most `withinMs` for the acks; resolves when the socket has ended. */
  stop(withinMs: number): Promise<void>
}

interface Link {
  readonly deps: ConnectionDeps
  readonly time: GatewayTime
  readonly batch: BatchLimit
  /** Rejections already told, by monitor and code. */
  readonly told: Set<string>
  settings: ConnectionSettings
  state: ConnectionState
  session: Session | null
  /** Unhealthy connections in a row. */
  attempts: number
  /** The refusal of the key was said; it is not repeated every hour. */
  held: boolean
  /** New settings came while a socket was open. */
  renew: boolean
  stopping: boolean
  cancelWait: () => void
  cancelStop: () => void
  onStopped: () => void
}

function setState(link: Link, state: ConnectionState): void {
  if (link.state === state) return
  link.state = state
  link.deps.onState?.(state)
}

function stopped(link: Link): void {
  link.cancelStop()
  const unsent = link.deps.outbox.size()
  if (unsent > 0) link.deps.log.warn({ heartbeats: unsent }, 'Stopped with heartbeats that were not acknowledged.')
  setState(link, 'stopped')
  link.onStopped()
}

function say(link: Link, { action, sentence }: Verdict, pauseMs: number): void {
  const { log, outbox } = link.deps
  if (action !== 'hold') log.warn({}, `${sentence} Next try in ${Math.ceil(pauseMs / 1000)} s.`)
  else if (link.held) log.debug({ pauseMs }, sentence)
  else log.error({ held: outbox.size() }, `${sentence} Checks go on; next try in an hour or on new configuration.`)
}

function suspectBatch(link: Link, end: SessionEnd): void {
  if (end.socket.kind !== 'closed' || !link.batch.afterClose(end.socket.code, end.suspect)) return
  link.deps.outbox.regroup()
  link.deps.log.warn({ items: end.suspect?.items }, 'A batch seems to end the connection; it is sent again in halves.')
}

function wait(link: Link, end: SessionEnd): void {
  const verdict = judgeEnd(end)
  const pauseMs = backoffMs({ ...verdict, attempts: link.attempts }, link.deps.random)
  say(link, verdict, pauseMs)
  link.held = verdict.action === 'hold'
  link.attempts += 1
  setState(link, 'waiting')
  link.cancelWait = link.deps.clock.after(pauseMs, () => connect(link))
}

function onEnd(link: Link, end: SessionEnd): void {
  link.session = null
  if (link.stopping) {
    stopped(link)
    return
  }
  if (end.healthyMs >= HEALTHY_MS) link.attempts = 0
  suspectBatch(link, end)
  if (link.renew) connect(link)
  else wait(link, end)
}

function onReject(link: Link, seq: number, errors: Rejections): void {
  const { outbox, log } = link.deps
  const frame = outbox.find(seq)
  for (const { index, code, detail } of errors) {
    const item = frame?.items[index]
    // The outbox wrote this text itself, from a Heartbeat.
    const monitorId: string | undefined = item === undefined ? undefined : JSON.parse(item).monitorId
    const key = `${monitorId} ${code}`
    if (link.told.has(key)) continue
    link.told.add(key)
    log.warn({ monitorId, code, detail }, 'The gateway rejects a heartbeat; further ones like it are not told.')
  }
}

function connect(link: Link): void {
  const { outbox, clock, log, agent, onMonitors } = link.deps
  link.renew = false
  setState(link, 'connecting')
  link.session = startSession({
    settings: link.settings,
    agent,
    outbox,
    batch: link.batch,
    clock,
    time: link.time,
    log,
    onMonitors,
    onWelcome() {
      link.held = false
      setState(link, link.stopping ? 'draining' : 'welcomed')
    },
    onReject: (seq, errors) => onReject(link, seq, errors),
    onDrain: () => setState(link, 'draining'),
    onEnd: (end) => onEnd(link, end)
  })
}

function reconfigure(link: Link, settings: ConnectionSettings): void {
  if (link.stopping) return
  link.settings = settings
  link.attempts = 0
  link.held = false
  if (link.session === null) {
    link.cancelWait()
    connect(link)
    return
  }
  link.renew = true
  link.session.leave()
}

function stop(link: Link, withinMs: number): Promise<void> {
  if (link.state === 'stopped') return Promise.resolve()
  link.stopping = true
  return new Promise((resolve) => {
    link.onStopped = resolve
    link.cancelWait()
    if (link.session === null) {
      stopped(link)
      return
    }
    if (link.state === 'welcomed') setState(link, 'draining')
    link.cancelStop = link.deps.clock.after(withinMs, () => link.session?.leave())
    link.session.finish()
  })
}

/** Keeps one connection to the gateway for as long as it is not stopped; it never gives up and never throws. */
export function startConnection(deps: ConnectionDeps): Connection {
  const nothing = () => undefined
  const link: Link = {
    deps,
    time: createGatewayTime(deps.clock),
    batch: createBatchLimit(),
    told: new Set(),
    settings: deps.settings,
    state: 'waiting',
    session: null,
    attempts: 0,
    held: false,
    renew: false,
    stopping: false,
    cancelWait: nothing,
    cancelStop: nothing,
    onStopped: nothing
  }
  connect(link)
  return {
    now: link.time.now,
    state: () => link.state,
    flush: () => link.session?.flush(),
    reconfigure: (settings) => reconfigure(link, settings),
    stop: (withinMs) => stop(link, withinMs)
  }
}
