import { test } from 'tap'
import { type ConnectedAgent, heartbeat, startConnectedAgent } from '../support/connected-agent.ts'

const HOUR = 3_600_000

function errors(agent: ConnectedAgent): string[] {
  return agent.lines.filter(({ level }) => level === 'error').map(({ message }) => message)
}

for (const [code, said] of [
  [4401, /revoked the API key/],
  [4403, /suspended/]
] as const) {
  test(`after ${code} the agent says one sentence, keeps heartbeats and returns hourly`, async (t) => {
    const agent = await startConnectedAgent(t, { random: () => 0 })
    const socket = await agent.peer.socket()
    await socket.welcome()
    await agent.reaches('welcomed')
    socket.close(code)
    await agent.reaches('waiting')
    agent.report(heartbeat(1))
    t.same(agent.clock.pending(), [HOUR])
    t.equal(errors(agent).length, 1)
    t.match(errors(agent)[0], said)
    agent.clock.advance(HOUR)
    const again = await agent.peer.socket()
    await again.welcome()
    t.match(await again.heartbeats(), { seq: 1, items: [heartbeat(1)] })
  })
}

for (const status of [401, 403]) {
  test(`after ${status} the agent says one sentence with the gateway's reason and returns hourly`, async (t) => {
    const agent = await startConnectedAgent(t, { random: () => 0 })
    const body = JSON.stringify({ title: 'No', detail: 'The key is unknown' })
    agent.peer.refuse({ status, headers: { 'Content-Type': 'application/problem+json' }, body })
    for (let hour = 0; hour < 3; hour++) {
      await agent.reaches('waiting')
      t.same(agent.clock.pending(), [HOUR])
      agent.clock.advance(HOUR)
    }
    await agent.reaches('waiting')
    t.equal(agent.peer.upgrades(), 4)
    t.equal(errors(agent).length, 1)
    t.match(errors(agent)[0], /The key is unknown/)
    t.notMatch(JSON.stringify(agent.lines), /kkkk/, 'the key is not told')
  })
}

test('a new key ends the wait', async (t) => {
  const agent = await startConnectedAgent(t)
  agent.peer.refuse({ status: 401 })
  await agent.reaches('waiting')
  agent.peer.refuse(null)
  agent.connection.reconfigure({ ingestUrl: agent.peer.url, apiKey: `pga_${'n'.repeat(38)}` })
  const socket = await agent.peer.socket()
  await socket.welcome()
  await agent.reaches('welcomed')
  t.pass('connected')
})

test('an agent whose place is taken says so and backs off', async (t) => {
  const agent = await startConnectedAgent(t)
  const socket = await agent.peer.socket()
  await socket.welcome()
  socket.close(4409, 'replaced')
  await agent.reaches('waiting')
  t.match(agent.lines.at(-1), { level: 'warn', message: /Another process/ })
  t.same(agent.clock.pending(), [500])
})
