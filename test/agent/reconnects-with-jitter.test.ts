import { test } from 'tap'
import { startConnectedAgent } from '../support/connected-agent.ts'

/** The pause that the connection is in: its only timer. */
function pauseOf(agent: { clock: { pending(): number[] } }): number {
  return agent.clock.pending()[0] ?? Number.NaN
}

test('the pause grows from 1 s to 60 s, and the jitter is full', async (t) => {
  for (const random of [0, 0.5, 0.999]) {
    const agent = await startConnectedAgent(t, { random: () => random })
    agent.peer.refuse({ status: 500 })
    const pauses: number[] = []
    for (let attempt = 0; attempt < 9; attempt++) {
      await agent.reaches('waiting')
      pauses.push(pauseOf(agent))
      agent.clock.advance(pauseOf(agent))
    }
    const ceilings = [1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1000 * random)
    t.same(pauses.map(Math.round), ceilings.map(Math.round), `at ${random}`)
  }
})

test('after a minute of health the pause begins at 1 s again', async (t) => {
  const agent = await startConnectedAgent(t)
  agent.peer.refuse({ status: 500 })
  for (let attempt = 0; attempt < 4; attempt++) {
    await agent.reaches('waiting')
    agent.peer.refuse(attempt < 3 ? { status: 500 } : null)
    agent.clock.advance(pauseOf(agent))
  }
  const socket = await agent.peer.socket()
  await socket.welcome()
  await agent.reaches('welcomed')
  agent.clock.advance(30_000)
  await socket.settled()
  agent.clock.advance(31_000)
  socket.cut()
  await agent.reaches('waiting')
  t.equal(pauseOf(agent), 500)
})

test('a short connection does not count as health', async (t) => {
  const agent = await startConnectedAgent(t)
  for (const pause of [500, 1000, 2000]) {
    const socket = await agent.peer.socket()
    await socket.welcome()
    await agent.reaches('welcomed')
    socket.cut()
    await agent.reaches('waiting')
    t.equal(pauseOf(agent), pause)
    agent.clock.advance(pause)
  }
})

test('after a restart the agent returns within 5 s', async (t) => {
  const agent = await startConnectedAgent(t, { random: () => 0.9 })
  const socket = await agent.peer.socket()
  await socket.welcome()
  socket.close(1012, 'restart')
  await agent.reaches('waiting')
  t.equal(pauseOf(agent), 4500)
})

test('an overloaded gateway is given the time it asks for, and some jitter', async (t) => {
  const agent = await startConnectedAgent(t)
  const socket = await agent.peer.socket()
  await socket.welcome()
  socket.send({ type: 'bye', code: 1013, retryAfterMs: 4000 })
  socket.close(1013, 'overloaded')
  await agent.reaches('waiting')
  t.equal(pauseOf(agent), 4500)
})

test('Retry-After of a refused upgrade is honoured', async (t) => {
  for (const status of [429, 503]) {
    const agent = await startConnectedAgent(t)
    agent.peer.refuse({ status, headers: { 'Retry-After': '7' } })
    await agent.reaches('waiting')
    t.equal(pauseOf(agent), 7500)
  }
})

test('a gateway that is silent for 60 s is given up; its pings count as words', async (t) => {
  const agent = await startConnectedAgent(t)
  const socket = await agent.peer.socket()
  await socket.welcome()
  await agent.reaches('welcomed')
  agent.clock.advance(59_000)
  await socket.settled()
  agent.clock.advance(59_000)
  t.equal(agent.connection.state(), 'welcomed')
  agent.clock.advance(1000)
  await agent.reaches('waiting')
  t.match(agent.lines[1], { level: 'warn', message: /Nothing was heard from the gateway for 60 s/ })
})

test('a gateway that never says welcome is given up after 10 s', async (t) => {
  const agent = await startConnectedAgent(t)
  const socket = await agent.peer.socket()
  await socket.hello()
  agent.clock.advance(10_000)
  await agent.reaches('waiting')
  t.equal((await socket.closed).code, 1006)
})

test('a wrong clock is corrected by the welcome, and a jump makes the agent ask again', async (t) => {
  const agent = await startConnectedAgent(t)
  const socket = await agent.peer.socket()
  await socket.welcome({ time: '2026-11-21T11:00:00.000Z' })
  await agent.reaches('welcomed')
  agent.clock.advance(1000)
  t.equal(agent.connection.now(), Date.parse('2026-11-21T11:00:01.000Z'))
  t.match(agent.lines, [{ level: 'warn', fields: { skewMs: -3_600_000 } }, {}])
  agent.clock.setBack(3_600_000)
  t.equal(agent.connection.now(), Date.parse('2026-11-21T11:00:01.000Z'))
  agent.clock.advance(5000)
  await agent.reaches('waiting')
})

test('new settings are used at once', async (t) => {
  const agent = await startConnectedAgent(t)
  const first = await agent.peer.socket()
  await first.welcome()
  await agent.reaches('welcomed')
  const apiKey = `pga_${'n'.repeat(38)}`
  agent.connection.reconfigure({ ingestUrl: agent.peer.url, apiKey })
  t.equal((await first.closed).code, 1000)
  const second = await agent.peer.socket()
  t.equal(second.request.headers.authorization, `Bearer ${apiKey}`)
})
