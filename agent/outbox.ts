import type { Heartbeat } from '../shared/protocol/heartbeat.ts'

/** One `heartbeats` frame. A resend is byte for byte the same items under the same seq. */
export interface OutboxFrame {
  readonly seq: number
  /** Each a heartbeat as JSON text. */
  readonly items: readonly string[]
}

export interface FrameLimits {
  readonly maxItems: number
  /** Bytes of all items together. */
  readonly maxBytes: number
}

/**
 * Heartbeats that nobody has acknowledged yet, bounded, in the order they were made. This first form lives in memory: a
 * stream begins with the process at seq 1, and what is unacknowledged when the process dies is lost. A spool on disk fits
 * behind the same functions: it hands in the stream and the numbers that it remembers.
 */
export interface Outbox {
  /** One id for the life of this store. */
  readonly stream: string
  add(heartbeat: Heartbeat): void
  /** The lowest seq that may still be sent (hello's `first`). */
  first(): number
  /** The highest seq ever given to a frame; 0 before the first. */
  last(): number
  /**
   * The frame to send after the one numbered `after`: one that was sent before and waits for its ack, else a new one made
   * of what waits, which takes the next seq for good. Null when there is none.
   */
  next(after: number, limits: FrameLimits): OutboxFrame | null
  /** A frame that is not acknowledged yet. */
  find(seq: number): OutboxFrame | undefined
  /** Forgets every frame up to `seq`; returns how many heartbeats that were. A seq never sent is ignored: 0. */
  ack(seq: number): number
  /** Gives up the numbers of all unacknowledged frames; their heartbeats are framed anew under higher ones. */
  regroup(): void
  /** Heartbeats held. */
  size(): number
  /** Heartbeats that had to make room, since the start. */
  dropped(): number
}

export interface OutboxOptions {
  readonly stream: string
  /** Most heartbeats held; then the oldest make room. */
  readonly capacity: number
  /** Told after heartbeats had to make room. */
  onDrop?(count: number): void
}

interface Store {
  /** Ascending by 1, because only the oldest leave. */
  frames: OutboxFrame[]
  /** Not framed yet; `head` is where the live part begins, so that taking from the front costs nothing. */
  waiting: string[]
  head: number
  framed: number
  last: number
  dropped: number
}

function waitingCount(store: Store): number {
  return store.waiting.length - store.head
}

function compact(store: Store): void {
  if (store.head < 1024 || store.head < store.waiting.length / 2) return
  store.waiting = store.waiting.slice(store.head)
  store.head = 0
}

/** Removes the oldest frame whole (its payload is fixed, it cannot lose a part), else the oldest waiting heartbeat. */
function dropOldest(store: Store): number {
  const frame = store.frames.shift()
  if (frame === undefined) {
    store.head += 1
    compact(store)
    return 1
  }
  store.framed -= frame.items.length
  return frame.items.length
}

function makeFrame(store: Store, { maxItems, maxBytes }: FrameLimits): OutboxFrame | null {
  const items: string[] = []
  let bytes = 0
  while (items.length < maxItems) {
    const item = store.waiting[store.head + items.length]
    if (item === undefined) break
    bytes += Buffer.byteLength(item) + 1
    // The first always goes: alone it is far below any limit, and refusing it would block the rest for ever.
    if (items.length > 0 && bytes > maxBytes) break
    items.push(item)
  }
  if (items.length === 0) return null
  store.head += items.length
  compact(store)
  store.last += 1
  store.framed += items.length
  const frame = { seq: store.last, items }
  store.frames.push(frame)
  return frame
}

function frameAt(store: Store, seq: number): OutboxFrame | undefined {
  const first = store.frames[0]
  return first === undefined ? undefined : store.frames[seq - first.seq]
}

function forgetThrough(store: Store, seq: number): number {
  if (seq > store.last) return 0
  const kept = store.frames.findIndex((frame) => frame.seq > seq)
  const gone = store.frames.splice(0, kept === -1 ? store.frames.length : kept)
  const settled = gone.reduce((sum, frame) => sum + frame.items.length, 0)
  store.framed -= settled
  return settled
}

function unframe(store: Store): void {
  store.waiting = [...store.frames.flatMap((frame) => frame.items), ...store.waiting.slice(store.head)]
  store.head = 0
  store.frames = []
  store.framed = 0
}

export function createOutbox({ stream, capacity, onDrop }: OutboxOptions): Outbox {
  const store: Store = { frames: [], waiting: [], head: 0, framed: 0, last: 0, dropped: 0 }
  const size = () => store.framed + waitingCount(store)
  const first = () => store.frames[0]?.seq ?? store.last + 1
  return {
    stream,
    add(heartbeat) {
      store.waiting.push(JSON.stringify(heartbeat))
      let dropped = 0
      while (size() > capacity) dropped += dropOldest(store)
      if (dropped === 0) return
      store.dropped += dropped
      onDrop?.(dropped)
    },
    first,
    last: () => store.last,
    next: (after, limits) => frameAt(store, Math.max(after + 1, first())) ?? makeFrame(store, limits),
    find: (seq) => frameAt(store, seq),
    ack: (seq) => forgetThrough(store, seq),
    regroup: () => unframe(store),
    size,
    dropped: () => store.dropped
  }
}
