import fc from 'fast-check'
import { test } from 'tap'
import { createOutbox, type Outbox, type OutboxFrame } from '../../agent/outbox.ts'
import { heartbeat } from '../support/connected-agent.ts'

const WIDE = { maxItems: 500, maxBytes: 1_000_000 }

function latencies(frame: OutboxFrame | null | undefined): number[] {
  return (frame?.items ?? []).map((item) => JSON.parse(item).latency)
}

function filled(count: number, capacity = 1000): Outbox {
  const outbox = createOutbox({ stream: 'test', capacity })
  for (let i = 1; i <= count; i++) outbox.add(heartbeat(i))
  return outbox
}

test('an empty outbox has no frame and begins at 1', async (t) => {
  const outbox = filled(0)
  t.equal(outbox.next(0, WIDE), null)
  t.match({ first: outbox.first(), last: outbox.last() }, { first: 1, last: 0 })
})

test('heartbeats leave in the order they came, as many in a frame as fit', async (t) => {
  const outbox = filled(5)
  t.same(latencies(outbox.next(0, { ...WIDE, maxItems: 3 })), [1, 2, 3])
  t.same(latencies(outbox.next(1, { ...WIDE, maxItems: 3 })), [4, 5])
  t.equal(outbox.next(2, WIDE), null)
})

test('a frame stays under the byte limit, but one heartbeat always fits', async (t) => {
  const outbox = filled(0)
  outbox.add(heartbeat(1, 'x'.repeat(900)))
  outbox.add(heartbeat(2))
  outbox.add(heartbeat(3))
  t.same(latencies(outbox.next(0, { maxItems: 500, maxBytes: 300 })), [1])
  t.same(latencies(outbox.next(1, { maxItems: 500, maxBytes: 300 })), [2, 3])
})

test('a frame sent again has the same seq and the same items', async (t) => {
  const outbox = filled(2)
  const once = outbox.next(0, { ...WIDE, maxItems: 1 })
  outbox.add(heartbeat(3))
  t.same(outbox.next(0, WIDE), once)
})

test('an ack is cumulative, and one for a seq never sent changes nothing', async (t) => {
  const outbox = filled(3)
  for (let seq = 0; seq < 3; seq++) outbox.next(seq, { ...WIDE, maxItems: 1 })
  t.equal(outbox.ack(99), 0)
  t.equal(outbox.size(), 3)
  t.equal(outbox.ack(2), 2)
  t.equal(outbox.ack(2), 0)
  t.match({ first: outbox.first(), size: outbox.size() }, { first: 3, size: 1 })
})

test('the oldest make room, whole frames at a time, and are counted', async (t) => {
  const told: number[] = []
  const outbox = createOutbox({ stream: 'test', capacity: 4, onDrop: (count) => told.push(count) })
  for (let i = 1; i <= 4; i++) outbox.add(heartbeat(i))
  outbox.next(0, { ...WIDE, maxItems: 2 })
  outbox.add(heartbeat(5))
  t.same(told, [2])
  t.match({ first: outbox.first(), dropped: outbox.dropped(), size: outbox.size() }, { first: 2, dropped: 2, size: 3 })
  t.same(latencies(outbox.next(0, WIDE)), [3, 4, 5])
})

test('regrouped heartbeats keep their order under new numbers', async (t) => {
  const outbox = filled(3)
  outbox.next(0, { ...WIDE, maxItems: 2 })
  outbox.regroup()
  t.equal(outbox.first(), 2)
  t.match(outbox.next(0, { ...WIDE, maxItems: 1 }), { seq: 2 })
  t.same([...latencies(outbox.find(2)), ...latencies(outbox.next(2, WIDE))], [1, 2, 3])
})

test('a hundred thousand heartbeats pass in a moment', async (t) => {
  const outbox = filled(100_000, 100_000)
  let taken = 0
  for (let seq = 0; taken < 100_000; seq++) {
    taken += outbox.next(seq, WIDE)?.items.length ?? Number.NaN
    outbox.ack(seq + 1)
  }
  t.equal(outbox.size(), 0)
})

type Step = { kind: 'add' | 'send' | 'ack' | 'reconnect' | 'regroup'; n: number }
const steps = fc.array(
  fc.record({
    kind: fc.constantFrom<Step['kind'][]>('add', 'add', 'send', 'ack', 'reconnect', 'regroup'),
    n: fc.nat(20)
  })
)

/** Plays random steps as a connection would take them, and checks each frame against what was ever sent. */
function play(sequence: readonly Step[], capacity: number) {
  const outbox = createOutbox({ stream: 'test', capacity })
  const payloads = new Map<number, string>()
  const settled = new Set<number>()
  const faults: string[] = []
  let made = 0
  let cursor = 0
  const act: Record<Step['kind'], (n: number) => void> = {
    add(n) {
      for (let i = 0; i < n; i++) outbox.add(heartbeat(++made))
    },
    send(n) {
      const frame = outbox.next(cursor, { maxItems: n + 1, maxBytes: 1_000_000 })
      if (frame === null) return
      const payload = frame.items.join()
      if ((payloads.get(frame.seq) ?? payload) !== payload) faults.push(`seq ${frame.seq} has two payloads`)
      if (frame.seq <= cursor) faults.push(`seq ${frame.seq} after ${cursor}`)
      payloads.set(frame.seq, payload)
      cursor = frame.seq
    },
    ack(n) {
      const seq = Math.min(cursor, outbox.first() + n)
      for (let s = outbox.first(); s <= seq; s++) for (const one of latencies(outbox.find(s))) settled.add(one)
      outbox.ack(seq)
    },
    reconnect() {
      cursor = 0
    },
    regroup() {
      outbox.regroup()
      cursor = 0
    }
  }
  for (const { kind, n } of sequence) act[kind](n)
  return { outbox, faults, settled, made }
}

test('whatever happens, no seq has two payloads and every heartbeat is settled, dropped or held', async (t) => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 60 }), (sequence, capacity) => {
      const { outbox, faults, settled, made } = play(sequence, capacity)
      const accounted = settled.size + outbox.dropped() + outbox.size()
      return faults.length === 0 && accounted === made && outbox.size() <= capacity
    }),
    { numRuns: 500 }
  )
  t.pass('500 random sequences')
})
