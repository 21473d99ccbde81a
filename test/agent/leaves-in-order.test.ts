import { test } from 'tap'
import { heartbeat, startConnectedAgent } from '../support/connected-agent.ts'

test('a draining gateway gets nothing new; the agent leaves after the last ack and returns soon', async (t) => {
  const agent = await startConnectedAgent(t)
  const socket = await agent.peer.socket()
  await socket.welcome()
  await agent.reaches('welcomed')
  agent.report(heartbeat(1))
  await socket.heartbeats()
  socket.send({ type: 'drain', withinMs: 5000 })
  await agent.reaches('draining')
  agent.report(heartbeat(2))
  socket.send({ type: 'ack', seq: 1 })
  t.equal((await socket.closed).code, 1000)
  t.equal(socket.unread(), 0)
  await agent.reaches('waiting')
  t.same(agent.clock.pending(), [2500])
  agent.clock.advance(2500)
  const next = await agent.peer.socket()
  await next.welcome()
  t.match(await next.heartbeats(), { seq: 2, items: [heartbeat(2)] })
})

test('a draining gateway that acknowledges nothing is left when its time is over', async (t) => {
  const agent = await startConnectedAgent(t)
  const socket = await agent.peer.socket()
  await socket.welcome()
  await agent.reaches('welcomed')
  agent.report(heartbeat(1))
  await socket.heartbeats()
  socket.send({ type: 'drain', withinMs: 3000 })
  await agent.reaches('draining')
  agent.clock.advance(3000)
  t.equal((await socket.closed).code, 1000)
  await agent.reaches('waiting')
  t.equal(agent.outbox.size(), 1)
})

test('a stopping agent sends what is left, waits for the acks and closes with 1000', async (t) => {
  const agent = await startConnectedAgent(t)
  const socket = await agent.peer.socket()
  await socket.welcome({ maxInFlight: 1 })
  await agent.reaches('welcomed')
  agent.report(heartbeat(1))
  agent.report(heartbeat(2))
  const stopped = agent.connection.stop(5000)
  t.equal(agent.connection.state(), 'draining')
  for (let seq = 1; seq <= 2; seq++) {
    t.equal((await socket.heartbeats()).seq, seq)
    socket.send({ type: 'ack', seq })
  }
  t.equal((await socket.closed).code, 1000)
  await stopped
  t.equal(agent.connection.state(), 'stopped')
})

test('a stopping agent waits no longer than it may and says what it still holds', async (t) => {
  const agent = await startConnectedAgent(t)
  const socket = await agent.peer.socket()
  await socket.welcome()
  await agent.reaches('welcomed')
  agent.report(heartbeat(1))
  await socket.heartbeats()
  const stopped = agent.connection.stop(5000)
  agent.clock.advance(5000)
  await stopped
  t.equal((await socket.closed).code, 1000)
  t.match(agent.lines.at(-1), { level: 'warn', fields: { heartbeats: 1 } })
})

test('an agent that waits for its next attempt stops at once', async (t) => {
  const agent = await startConnectedAgent(t)
  agent.peer.refuse({ status: 503 })
  await agent.reaches('waiting')
  await agent.connection.stop(5000)
  t.equal(agent.connection.state(), 'stopped')
  t.same(agent.clock.pending(), [])
})

test('an agent without anything to send stops at once, even while it connects', async (t) => {
  const agent = await startConnectedAgent(t)
  await agent.connection.stop(5000)
  t.equal(agent.connection.state(), 'stopped')
  t.same(agent.clock.pending(), [])
})
