import type { Caller } from '../shared/identity/caller.ts'
import { CLOSE } from '../shared/protocol/close-codes.ts'
import type { ErrorCode } from '../shared/protocol/errors.ts'
import { PROTOCOL } from '../shared/protocol/frames.ts'
import type { Session } from './session.ts'

/** Sockets that one service may hold in this process. */
const MAX_SERVICE_SOCKETS = 10
/**
 * A message about a revoked key may be lost (it is sent once, after the commit), so every session is looked at this often.
 */
const REVIEW_MS = 300_000

/** Who is connected to this process, and the clockwork over them. */
export class Connections {
  /** Most agents have one socket, so a short list costs less than a set each. */
  readonly #bySource = new Map<string, Session[]>()
  /** Pings are spread over the interval: slot i is served in second i of it. */
  readonly #slots: Array<Set<Session>> = Array.from({ length: PROTOCOL.pingIntervalMs / 1000 }, () => new Set())
  readonly #awaitingHello = new Set<Session>()
  #turn = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  *all(): Generator<Session> {
    for (const slot of this.#slots) yield* slot
  }

  of(sourceId: string): readonly Session[] {
    return this.#bySource.get(sourceId) ?? []
  }

  add(session: Session): void {
    this.#size++
    const slot = this.#size % this.#slots.length
    this.#slots[slot]?.add(session)
    session.slot = slot
    this.#awaitingHello.add(session)
    const { sourceId } = session.caller
    const mates = this.#bySource.get(sourceId)
    if (mates === undefined) this.#bySource.set(sourceId, [session])
    else mates.push(session)
  }

  remove(session: Session): void {
    if (!this.#slots[session.slot]?.delete(session)) return
    this.#size--
    this.#awaitingHello.delete(session)
    const { sourceId } = session.caller
    const rest = this.of(sourceId).filter((other) => other !== session)
    if (rest.length === 0) this.#bySource.delete(sourceId)
    else this.#bySource.set(sourceId, rest)
  }

  /** Why this caller may not open another socket, or null. An agent may: the newest wins. */
  refuseSocket(caller: Caller): ErrorCode | null {
    const full = caller.kind === 'service' && this.of(caller.sourceId).length >= MAX_SERVICE_SOCKETS
    return full ? 'too_many_connections' : null
  }

  /** Closes the agent's sockets that are older than `connection`. Services may hold several. */
  closeOlder(agentId: string, connection: string): void {
    for (const session of [...this.of(agentId)]) {
      if (session.caller.kind === 'agent' && session.connection < connection) session.close(CLOSE.replaced)
    }
  }

  /**
   * Once a second: ends the sockets that said no hello, or nothing whole for too long, and pings those whose turn it is.
   * uWebSockets.js tells only whole messages and pongs, so a frame that drips in is ended by the same rule as silence.
   * Returns the sessions whose rights were last looked at long ago. `now`: monotonic ms.
   */
  tick(now: number): Session[] {
    for (const session of this.#awaitingHello) {
      if (session.state !== 'opened') this.#awaitingHello.delete(session)
      else if (now - session.openedAt > PROTOCOL.helloTimeoutMs) session.close(CLOSE.silent)
    }
    const stale: Session[] = []
    for (const session of this.all()) {
      if (now - session.heardAt > PROTOCOL.silenceMs) session.close(CLOSE.silent)
      else if (now - session.reviewedAt > REVIEW_MS) {
        session.reviewedAt = now
        stale.push(session)
      }
    }
    for (const session of this.#slots[this.#turn] ?? []) session.ws?.ping()
    this.#turn = (this.#turn + 1) % this.#slots.length
    return stale
  }
}
