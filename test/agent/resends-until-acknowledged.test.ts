import { test } from 'tap'
import { parseTimestamp } from '../../shared/protocol/timestamp.ts'
import { heartbeat, startConnectedAgent } from '../support/connected-agent.ts'
import type { PeerSocket, ReceivedHeartbeats } from '../support/gateway-peer.ts'

function latencies(frame: ReceivedHeartbeats): number[] {
  return frame.items.map(({ latency }) => latency)
}

async function take(socket: PeerSocket, count: number): Promise<number[]> {
  const seqs: number[] = []
  for (let i = 0; i < count; i++) seqs.push((await socket.heartbeats()).seq)
  return seqs
}

test('the agent shows its key, its subprotocol and its version in the upgrade', async (t) => {
  const { peer } = await startConnectedAgent(t)
  const { headers } = (await peer.socket()).request
  t.match(headers.authorization, /^Bearer pga_k{38}$/)
  t.equal(headers['sec-websocket-protocol'], 'heartbeat.v1')
  t.equal(headers['user-agent'], 'Pulsegate-Agent/0.0.0')
})

test('hello names the stream and the first seq, and monitors come from the welcome', async (t) => {
  const agent = await startConnectedAgent(t)
  const socket = await agent.peer.socket()
  const monitorId = '00000000-0000-7000-8000-000000000001'
  const monitor = { monitorId, name: 'site', kind: 'http' as const, intervalSeconds: 60, timeoutSeconds: 5 }
  const hello = await socket.welcome({ monitors: [monitor] })
  t.match(hello, { type: 'hello', stream: agent.outbox.stream, first: 1, agent: { name: 'test', version: '0.0.0' } })
  await agent.reaches('welcomed')
  t.same(agent.monitors, [[monitor]])
})

test('a heartbeat is held until its ack', async (t) => {
  const agent = await startConnectedAgent(t)
  const socket = await agent.peer.socket()
  await socket.welcome()
  await agent.reaches('welcomed')
  agent.report(heartbeat(1))
  const frame = await socket.heartbeats()
  t.match(frame, { type: 'heartbeats', seq: 1, items: [heartbeat(1)] })
  t.equal(parseTimestamp(frame.sentAt), agent.clock.now())
  await socket.settled()
  t.equal(agent.outbox.size(), 1)
  socket.send({ type: 'ack', seq: 1 })
  await socket.settled()
  t.equal(agent.outbox.size(), 0)
})

test('what was not acknowledged is sent again on the next connection, byte for byte', async (t) => {
  const agent = await startConnectedAgent(t)
  const first = await agent.peer.socket()
  await first.welcome()
  await agent.reaches('welcomed')
  for (let i = 1; i <= 3; i++) agent.report(heartbeat(i))
  await take(first, 3)
  first.send({ type: 'ack', seq: 1 })
  first.cut()
  await agent.reaches('waiting')
  agent.clock.advance(1000)
  const second = await agent.peer.socket()
  const hello = await second.welcome()
  t.equal(hello.first, 2)
  const again = [await second.heartbeats(), await second.heartbeats()]
  t.same(
    again.map(({ seq, items }) => ({ seq, items })),
    [
      { seq: 2, items: [heartbeat(2)] },
      { seq: 3, items: [heartbeat(3)] }
    ]
  )
})

test('what the gateway remembers as acknowledged is not sent again', async (t) => {
  const agent = await startConnectedAgent(t)
  const first = await agent.peer.socket()
  await first.welcome()
  await agent.reaches('welcomed')
  for (let i = 1; i <= 3; i++) agent.report(heartbeat(i))
  await take(first, 3)
  first.cut()
  await agent.reaches('waiting')
  agent.clock.advance(1000)
  const second = await agent.peer.socket()
  await second.welcome({ acked: 2 })
  t.equal((await second.heartbeats()).seq, 3)
})

test('a backlog goes in full frames, never more of them unacknowledged than allowed', async (t) => {
  const agent = await startConnectedAgent(t)
  for (let i = 1; i <= 10; i++) agent.report(heartbeat(i))
  const socket = await agent.peer.socket()
  await socket.welcome({ maxBatch: 3, maxInFlight: 2 })
  t.same(latencies(await socket.heartbeats()), [1, 2, 3])
  t.same(latencies(await socket.heartbeats()), [4, 5, 6])
  t.equal(socket.unread(), 0)
  socket.send({ type: 'ack', seq: 1 })
  t.same(latencies(await socket.heartbeats()), [7, 8, 9])
  socket.send({ type: 'ack', seq: 3 })
  t.same(latencies(await socket.heartbeats()), [10])
})

test('an ack of a frame that was never sent is ignored', async (t) => {
  const agent = await startConnectedAgent(t)
  const socket = await agent.peer.socket()
  await socket.welcome()
  await agent.reaches('welcomed')
  agent.report(heartbeat(1))
  t.equal((await socket.heartbeats()).seq, 1)
  socket.send({ type: 'ack', seq: 77 })
  await socket.settled()
  t.equal(agent.outbox.size(), 1)
})

test('frames and fields from the future are ignored, and so are monitors of an unknown kind', async (t) => {
  const agent = await startConnectedAgent(t)
  const socket = await agent.peer.socket()
  await socket.welcome()
  await agent.reaches('welcomed')
  const known = { monitorId: '00000000-0000-7000-8000-000000000001', name: 'a', kind: 'tcp', target: 'localhost:1' }
  const monitors = [
    { ...known, intervalSeconds: 60, timeoutSeconds: 5, colour: 'red' },
    { ...known, kind: 'quantum' }
  ]
  socket.send('not json')
  socket.send({ type: 'weather', sunny: true })
  socket.send({ type: 'monitors', monitors, extra: 1 })
  agent.report(heartbeat(1))
  await socket.heartbeats()
  socket.send({ type: 'ack', seq: 1, mood: 'fine' })
  await socket.settled()
  t.same(
    agent.monitors.map((set) => set.length),
    [0, 1]
  )
  t.equal(agent.outbox.size(), 0)
})

test('a rejected heartbeat is told once and does not hold up the others', async (t) => {
  const agent = await startConnectedAgent(t)
  const socket = await agent.peer.socket()
  await socket.welcome()
  await agent.reaches('welcomed')
  for (let seq = 1; seq <= 2; seq++) {
    agent.report(heartbeat(seq))
    await socket.heartbeats()
    socket.send({ type: 'reject', seq, errors: [{ index: 0, code: 'monitor_not_allowed', detail: 'Not yours.' }] })
    socket.send({ type: 'ack', seq })
  }
  await socket.settled()
  t.equal(agent.outbox.size(), 0)
  const told = agent.lines.filter(({ message }) => message.includes('rejects'))
  t.match(told, [{ fields: { monitorId: heartbeat(1).monitorId, code: 'monitor_not_allowed' } }])
  t.equal(told.length, 1)
})

test('a batch that is too big is halved under new numbers', async (t) => {
  const agent = await startConnectedAgent(t)
  for (let i = 1; i <= 4; i++) agent.report(heartbeat(i))
  const first = await agent.peer.socket()
  await first.welcome()
  await first.heartbeats()
  first.close(1009)
  await agent.reaches('waiting')
  agent.clock.advance(1000)
  const second = await agent.peer.socket()
  t.equal((await second.welcome()).first, 2)
  const halves = [await second.heartbeats(), await second.heartbeats()]
  t.same(halves.map(latencies), [
    [1, 2],
    [3, 4]
  ])
  t.same(
    halves.map(({ seq }) => seq),
    [2, 3]
  )
})

test('a batch that ends three connections without a word is halved', async (t) => {
  const agent = await startConnectedAgent(t)
  for (let i = 1; i <= 4; i++) agent.report(heartbeat(i))
  for (let round = 0; round < 3; round++) {
    const socket = await agent.peer.socket()
    await socket.welcome()
    t.equal((await socket.heartbeats()).items.length, 4)
    socket.cut()
    await agent.reaches('waiting')
    agent.clock.advance(60_000)
  }
  const socket = await agent.peer.socket()
  await socket.welcome()
  t.equal((await socket.heartbeats()).items.length, 2)
})

test('frames dropped between two connections leave no gap', async (t) => {
  const agent = await startConnectedAgent(t, { capacity: 3 })
  const first = await agent.peer.socket()
  await first.welcome()
  await agent.reaches('welcomed')
  for (let i = 1; i <= 3; i++) agent.report(heartbeat(i))
  await take(first, 3)
  first.cut()
  await agent.reaches('waiting')
  agent.report(heartbeat(4), heartbeat(5))
  agent.clock.advance(1000)
  const second = await agent.peer.socket()
  t.equal((await second.welcome()).first, 3)
  t.same(await take(second, 2), [3, 4])
  t.equal(agent.outbox.dropped(), 2)
})

test('frames dropped before they were sent again make the agent say hello anew', async (t) => {
  const agent = await startConnectedAgent(t, { capacity: 3 })
  const first = await agent.peer.socket()
  await first.welcome()
  await agent.reaches('welcomed')
  for (let i = 1; i <= 3; i++) agent.report(heartbeat(i))
  await take(first, 3)
  first.cut()
  await agent.reaches('waiting')
  agent.clock.advance(1000)
  const second = await agent.peer.socket()
  await second.welcome({ maxInFlight: 1 })
  t.equal((await second.heartbeats()).seq, 1)
  agent.report(heartbeat(4), heartbeat(5))
  second.send({ type: 'ack', seq: 1 })
  await second.closed
  await agent.reaches('waiting')
  agent.clock.advance(2000)
  const third = await agent.peer.socket()
  t.equal((await third.welcome()).first, 3)
  t.same(await take(third, 2), [3, 4])
})
