import type { AppError } from '../shared/errors.ts'
import type { Caller } from '../shared/identity/caller.ts'
import type { Door } from '../shared/ingest/accept.ts'
import type { Receipt } from '../shared/ingest/batch.ts'
import { CLOSE, type CloseCode } from '../shared/protocol/close-codes.ts'
import { type GatewayFrame, type HeartbeatsFrame, type Hello, PROTOCOL } from '../shared/protocol/frames.ts'
import { MAX_BATCH_BYTES, MAX_ITEMS } from '../shared/protocol/heartbeat.ts'
import { readFrame } from './read-frame.ts'
import { SEND_DROPPED, type WebSocket } from './uws.ts'

/** uWebSockets.js copies the members of this object, so the session is one of them. */
export interface SocketData {
  session: Session
}

/** What a session needs of the gateway around it; one object for all sessions. */
export interface SessionHost {
  door: Door
  /** Milliseconds that never jump, for everything about silence. */
  monotonic: () => number
  random: () => number
  /** The caller as it is now, for a monitor that it does not know yet. */
  refreshed(caller: Caller): Promise<Caller>
  /** Answers a hello: reads the remembered `acked` and the monitors, then calls `session.welcome`. */
  greet(session: Session, hello: Hello): void
  /** The session has something to acknowledge; `sendAck` is called soon, once for many frames. */
  ackSoon(session: Session): void
  /** The session acknowledged up to `session.acked`. */
  acknowledged(session: Session): void
  onClosing(code: number): void
}

/** Does the caller know every monitor named here? A monitor may have been given to it a moment ago. */
function knowsMonitors({ monitors }: Caller, items: readonly unknown[]): boolean {
  for (const item of items) {
    const monitorId = (item as { monitorId?: unknown } | null)?.monitorId
    if (typeof monitorId === 'string' && !monitors.has(monitorId)) return false
  }
  return true
}

/**
 * One connection: frame in, door, acknowledgement or rejection out. Kept small, for there are ten thousand of them.
 * States: opened → greeting (hello seen) → welcomed → ended.
 */
export class Session implements Receipt {
  caller: Caller
  readonly keyDigest: string
  /** UUIDv7, so a newer connection of the same agent sorts later. */
  readonly connection: string
  /** Monotonic ms. */
  readonly openedAt: number
  /** When a whole frame or a pong last came, monotonic ms. */
  heardAt: number
  /** `heardAt` as other processes know it. */
  toldAt = Number.NEGATIVE_INFINITY
  /** When its key and monitors were last looked at, monotonic ms. */
  reviewedAt: number
  state: 'opened' | 'greeting' | 'welcomed' | 'ended' = 'opened'
  /** The agent's stream, known from its hello on. */
  stream = ''
  /** Everything up to here is durable, over all connections of the stream. */
  acked = 0
  /** Check sum of the monitors last told, to tell again only what changed. */
  monitorsSum = 0
  ackPlanned = false
  /** In which second of the ping interval it is pinged. */
  slot = 0
  ws: WebSocket<SocketData> | null = null
  readonly #host: SessionHost
  /** Parts still to be made durable, for each frame from `#first` on. */
  #pending: number[] = []
  /** seq of #pending[0]; 0 before the first frame of this connection. */
  #first = 0

  constructor(host: SessionHost, caller: Caller, keyDigest: string, connection: string) {
    this.#host = host
    this.caller = caller
    this.keyDigest = keyDigest
    this.connection = connection
    this.openedAt = host.monotonic()
    this.heardAt = this.openedAt
    this.reviewedAt = this.openedAt
  }

  get inFlight(): number {
    return this.#pending.length
  }

  /** A message arrived. Must not throw for anything a peer can send. */
  receive(message: ArrayBuffer, isBinary: boolean): void {
    if (this.state === 'ended') return
    this.heardAt = this.#host.monotonic()
    if (isBinary) return this.close(CLOSE.unsupportedData)
    if (message.byteLength > MAX_BATCH_BYTES) return this.close(CLOSE.tooBig)
    const frame = readFrame(Buffer.from(message).toString('utf8'))
    if (frame === null) return this.close(CLOSE.badMessage)
    if (frame.type === 'heartbeats') return this.#heartbeats(frame)
    if (this.state !== 'opened') return this.close(CLOSE.badMessage)
    this.state = 'greeting'
    this.stream = frame.stream
    this.#host.greet(this, frame)
  }

  /** Completes the greeting. `remembered`: the acked that is known of this stream; `first`: the agent's lowest seq. */
  welcome(remembered: number, first: number, frame: Omit<Extract<GatewayFrame, { type: 'welcome' }>, 'acked'>): void {
    if (this.state !== 'greeting') return
    this.acked = Math.max(remembered, first - 1)
    this.state = 'welcomed'
    this.send({ ...frame, acked: this.acked })
  }

  #heartbeats(frame: HeartbeatsFrame): void {
    if (this.state !== 'welcomed') return this.close(CLOSE.badMessage)
    const { seq, items } = frame
    const expected = this.#first + this.#pending.length
    const inOrder = this.#first === 0 ? seq <= this.acked + 1 : seq === expected
    if (!inOrder) return this.close(CLOSE.badMessage)
    if (items.length > MAX_ITEMS) return this.close(CLOSE.tooBig)
    if (this.#pending.length >= PROTOCOL.maxInFlight) return this.close(CLOSE.tooManyInFlight)
    if (this.#first === 0) this.#first = seq
    // Its place is taken before it is judged, which may take a look-up.
    this.#pending.push(1)
    if (knowsMonitors(this.caller, items)) return this.#judge(frame)
    void this.#refresh().then(() => this.#judge(frame))
  }

  async #refresh(): Promise<void> {
    try {
      this.caller = await this.#host.refreshed(this.caller)
    } catch {
      // The database is away: what is known decides.
    }
  }

  #judge({ seq, items }: HeartbeatsFrame): void {
    if (this.state === 'ended') return
    const result = this.#host.door.accept(this.caller, items, this, seq)
    if (result === null) return this.close(CLOSE.overloaded)
    if (result.rejected.length > 0) this.send({ type: 'reject', seq, errors: [...result.rejected] })
    this.#pending[seq - this.#first] = result.parts
    if (result.parts === 0) this.#advance()
  }

  settle(seq: number, error: AppError | null): void {
    if (this.state === 'ended') return
    if (error !== null) return this.close(CLOSE.overloaded)
    const index = seq - this.#first
    const parts = this.#pending[index]
    if (parts === undefined) return
    this.#pending[index] = parts - 1
    if (index === 0) this.#advance()
  }

  /** Moves past the frames that are whole on disk; acknowledgement is cumulative. */
  #advance(): void {
    let done = 0
    while (done < this.#pending.length && this.#pending[done] === 0) done++
    if (done === 0) return
    this.#pending.splice(0, done)
    this.#first += done
    this.acked = Math.max(this.acked, this.#first - 1)
    if (!this.ackPlanned) {
      this.ackPlanned = true
      this.#host.ackSoon(this)
    }
  }

  sendAck(): void {
    this.ackPlanned = false
    if (this.state === 'ended') return
    this.#write(`{"type":"ack","seq":${this.#first - 1}}`)
    this.#host.acknowledged(this)
  }

  send(frame: GatewayFrame): void {
    this.#write(JSON.stringify(frame))
  }

  #write(text: string): void {
    if (this.ws === null || this.state === 'ended') return
    // Dropped: the peer does not read. An acknowledgement it never gets must not be followed by later ones.
    if (this.ws.send(text) === SEND_DROPPED) this.close(CLOSE.overloaded)
  }

  /** Says why, when and with what, then closes. Nothing is acknowledged any more. */
  close(why: CloseCode): void {
    if (this.state === 'ended' || this.ws === null) return
    const { ws } = this
    this.state = 'ended'
    this.#host.onClosing(why.code)
    const retryAfterMs = why.code === CLOSE.overloaded.code ? Math.round(1000 + this.#host.random() * 4000) : undefined
    const bye: GatewayFrame = { type: 'bye', code: why.code, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
    ws.cork(() => {
      ws.send(JSON.stringify(bye))
      ws.end(why.code, why.reason)
    })
  }

  /** The socket is gone; nothing may touch it again. */
  closed(): void {
    this.state = 'ended'
    this.ws = null
    this.#pending = []
  }
}
