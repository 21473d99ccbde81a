import { MAX_BATCH_BYTES } from '../shared/protocol/heartbeat.ts'
import { formatTimestamp } from '../shared/protocol/timestamp.ts'
import type { BatchLimit, Suspect } from './batch-limit.ts'
import type { Clock } from './clock.ts'
import type { Outbox } from './outbox.ts'
import type { Socket } from './socket.ts'

export interface SenderDeps {
  readonly outbox: Outbox
  readonly batch: BatchLimit
  readonly clock: Clock
  readonly socket: Pick<Socket, 'send' | 'buffered'>
  /** The network took some bytes: there may be room for the next frame. */
  onRoom(): void
}

/** What `welcome` says about sending. */
export interface Window {
  readonly acked: number
  readonly maxBatch: number
  readonly maxInFlight: number
}

/** The frames of one socket: which were sent, which are acknowledged, how many may still go. */
export interface Sender {
  /**
   * Sends as much of the outbox as the window allows. False when that is impossible on this socket: frames that had to
   * make room in the outbox left a gap, which the gateway would refuse.
   */
  flush(): boolean
  /** Takes an ack; false when no such frame was sent on this socket (a late or a strange ack: ignored). */
  ack(seq: number): boolean
  /** Frames sent and not acknowledged. */
  inFlight(): number
  /** The oldest frame sent here and not acknowledged. */
  suspect(): Suspect | null
}

/** Room for the envelope around the items. */
const MAX_ITEM_BYTES = MAX_BATCH_BYTES - 256
/** More than this waiting in the socket means that the network is the bottleneck; pongs must not queue behind it. */
const MAX_BUFFERED_BYTES = 1024 * 1024

function frameText(seq: number, sentAt: number, items: readonly string[]): string {
  return `{"type":"heartbeats","seq":${seq},"sentAt":"${formatTimestamp(sentAt)}","items":[${items.join(',')}]}`
}

export function createSender({ outbox, batch, clock, socket, onRoom }: SenderDeps, window: Window): Sender {
  let sent: number | null = null
  let acked = 0
  const inFlight = () => (sent === null ? 0 : sent - acked)
  const mayHave = (seq: number) => seq <= (sent ?? window.acked) + 1

  return {
    flush() {
      const limits = { maxItems: batch.within(window.maxBatch), maxBytes: MAX_ITEM_BYTES }
      while (inFlight() < Math.max(1, window.maxInFlight) && socket.buffered() < MAX_BUFFERED_BYTES) {
        const frame = outbox.next(sent ?? 0, limits)
        if (frame === null) return true
        if (!mayHave(frame.seq)) return false
        // The machine's own clock: the gateway measures its skew by this, while `timestamp` is already corrected.
        socket.send(frameText(frame.seq, clock.now(), frame.items), onRoom)
        if (sent === null) acked = frame.seq - 1
        sent = frame.seq
      }
      return true
    },
    ack(seq) {
      if (sent === null || seq > sent) return false
      acked = Math.max(acked, seq)
      outbox.ack(seq)
      return true
    },
    inFlight,
    suspect() {
      const frame = inFlight() === 0 ? undefined : outbox.find(acked + 1)
      return frame === undefined ? null : { seq: frame.seq, items: frame.items.length }
    }
  }
}
