import { randomUUID } from 'node:crypto'
import { clientFrame, createFrameRing, FIRST_SEQ, type FrameRing } from './frame-ring.ts'
import type { LoadPlan, Sender } from './load-plan.ts'
import { type LoadSocket, openLoadSocket } from './load-socket.ts'
import { createServerFrameScanner } from './server-frames.ts'

const CLOSE = 8
const PING = 9
const PONG = 10

/** What a connection tells the loop that drives it. */
export interface LoadListener {
  /** Sequence numbers `from` to `to` (inclusive) are acknowledged; called once for all frames that arrived together. */
  onAcked(connection: LoadConnection, from: number, to: number): void
  onRejected(items: number): void
  onClosed(reason: string): void
}

export interface LoadConnection {
  readonly index: number
  /** Places for frames under way; `seq % slots` is a frame's place, for data kept beside it. */
  readonly slots: number
  /** Unacknowledged frames. */
  inFlight(): number
  /** Writes `count` frames (no more than the window leaves room for); returns the first one's sequence number. */
  write(count: number, now: number): number
}

interface Positions {
  /** Sequence number of the next frame. */
  next: number
  /** Sequence number of the last acknowledged frame. */
  acked: number
}

function hello(): Buffer {
  const frame = { type: 'hello', stream: randomUUID(), first: FIRST_SEQ, agent: { name: 'bench', version: '1' } }
  return clientFrame(Buffer.from(JSON.stringify(frame)))
}

function createConnection(index: number, ring: FrameRing, socket: LoadSocket, at: Positions): LoadConnection {
  return {
    index,
    slots: ring.slots,
    inFlight: () => at.next - 1 - at.acked,
    write(count, now) {
      const first = at.next
      const firstSlot = ring.patch(at.next++, now)
      for (let i = 1; i < count; i++) ring.patch(at.next++, now)
      // Neighbouring slots go out in one write; where the ring ends, the rest needs a second one.
      const straight = Math.min(count, ring.slots - firstSlot)
      const start = firstSlot * ring.frameBytes
      socket.write(ring.bytes.subarray(start, start + straight * ring.frameBytes))
      if (straight < count) socket.write(ring.bytes.subarray(0, (count - straight) * ring.frameBytes))
      return first
    }
  }
}

interface FrameHandlers {
  onWelcome(): void
  onRejected(items: number): void
  onClosed(reason: string): void
  write(bytes: Buffer): void
}

/** Reads acknowledgements into `at`, and hands on the rest. */
function createScanner(at: Positions, handlers: FrameHandlers) {
  return createServerFrameScanner({
    onAck(seq) {
      if (seq > at.acked) at.acked = seq
    },
    onBareAck() {
      at.acked++
    },
    onText(text) {
      const frame = JSON.parse(text) as { type: string; errors?: unknown[] }
      if (frame.type === 'welcome') handlers.onWelcome()
      if (frame.type === 'reject') handlers.onRejected(frame.errors?.length ?? 0)
      if (frame.type === 'bye') handlers.onClosed(text)
    },
    onControl(opcode, payload) {
      if (opcode === PING) handlers.write(clientFrame(payload, PONG))
      if (opcode === CLOSE) handlers.onClosed(`close ${payload.length >= 2 ? payload.readUInt16BE(0) : 1005}`)
    }
  })
}

/**
 * Opens one socket, upgrades it, says hello, and resolves when the server has welcomed it. Rejects when the socket ends before
 * that; only a later end is told to the listener.
 */
export function openLoadConnection(
  plan: LoadPlan,
  sender: Sender,
  index: number,
  listener: LoadListener
): Promise<LoadConnection> {
  return new Promise((resolve, reject) => {
    const at: Positions = { next: FIRST_SEQ, acked: FIRST_SEQ - 1 }
    let welcomed = false
    const onWelcome = () => {
      welcomed = true
      resolve(connection)
    }
    const onClosed = (reason: string) => {
      if (welcomed) listener.onClosed(reason)
      else reject(new Error(reason))
    }
    const scanner = createScanner(at, {
      onWelcome,
      onRejected: listener.onRejected,
      onClosed,
      write: (bytes) => socket.write(bytes)
    })
    const socket = openLoadSocket(plan, sender.apiKey, {
      onOpen() {
        if (plan.hello) socket.write(hello())
        else onWelcome()
      },
      onBytes(bytes, length) {
        const before = at.acked
        scanner.read(bytes, length)
        if (at.acked > before) listener.onAcked(connection, before + 1, at.acked)
      },
      onEnd: (error) => onClosed(error.message)
    })
    const ring = createFrameRing(sender.monitorIds, plan.window, plan.itemsPerFrame)
    const connection = createConnection(index, ring, socket, at)
  })
}
