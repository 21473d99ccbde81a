import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import t from 'tap'
import { connectAgent, type FakeAgent } from '../support/fake-agent.ts'
import { gatewayTenantFor, heartbeatOf, historyOf } from '../support/gateway-tenant.ts'
import { workerFor } from '../support/ingest.ts'
import { waitFor } from '../support/wait-for.ts'

type Act = (socket: FakeAgent, monitorId: string) => void

function frame(seq: unknown, items: unknown): string {
  return JSON.stringify({ type: 'heartbeats', seq, items })
}

const BEFORE_HELLO: Array<[name: string, act: Act, code: number]> = [
  ['text that is no JSON', (socket) => socket.sendRaw('{'), 4400],
  ['JSON that is no object', (socket) => socket.sendRaw('[1]'), 4400],
  ['an unknown type of frame', (socket) => socket.send({ type: 'shout' }), 4400],
  ['a hello without stream', (socket) => socket.send({ type: 'hello', first: 1 }), 4400],
  ['a hello whose stream is no id', (socket) => socket.send({ type: 'hello', stream: 'x', first: 1 }), 4400],
  [
    'a hello whose version holds U+0000',
    (socket) => socket.send({ type: 'hello', stream: randomUUID(), first: 1, agent: { version: '1\u0000' } }),
    4400
  ],
  ['a hello whose first is 0', (socket) => socket.send({ type: 'hello', stream: randomUUID(), first: 0 }), 4400],
  ['heartbeats before hello', (socket, id) => socket.sendRaw(frame(1, [heartbeatOf(id)])), 4400],
  ['a binary frame', (socket) => socket.sendRaw(Buffer.from('{}')), 1003],
  ['a frame over 256 KiB', (socket) => socket.sendRaw(' '.repeat(262_145)), 1009]
]

const AFTER_HELLO: Array<[name: string, act: Act, code: number]> = [
  ['a second hello', (socket) => socket.send({ type: 'hello', stream: randomUUID(), first: 1 }), 4400],
  ['items that are no list', (socket) => socket.sendRaw(frame(1, {})), 4400],
  ['a seq that is no whole number', (socket) => socket.sendRaw(frame(1.5, [])), 4400],
  ['a seq of text', (socket) => socket.sendRaw(frame('1', [])), 4400],
  ['a seq past the next one', (socket) => socket.sendRaw(frame(2, [])), 4400],
  [
    '501 items',
    (socket, id) =>
      socket.sendRaw(
        frame(
          1,
          Array.from({ length: 501 }, () => heartbeatOf(id))
        )
      ),
    1009
  ]
]

t.test('each fault of an envelope closes its socket with its code, and no other socket', async (t) => {
  const { stores, tenant, monitorId, agent, gateway } = await gatewayTenantFor(t)
  await workerFor(t, stores)
  const neighbour = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await neighbour.hello()
  let seq = 0
  for (const [cases, greets] of [[BEFORE_HELLO, false] as const, [AFTER_HELLO, true] as const]) {
    for (const [name, act, code] of cases) {
      const other = await tenant.addAgent([monitorId])
      const socket = await connectAgent({ url: gateway.url, apiKey: other.apiKey })
      if (greets) await socket.hello()
      act(socket, monitorId)
      neighbour.send({ type: 'heartbeats', seq: ++seq, items: [heartbeatOf(monitorId)] })
      t.match(await socket.closed, { code }, name)
      t.match(await socket.next('bye'), { code }, `${name}: said before`)
      t.notOk(
        socket.frames.some(({ type }) => type === 'ack'),
        `${name}: nothing is acknowledged`
      )
    }
  }
  await waitFor(() => neighbour.frames.some((frame) => frame.type === 'ack' && frame.seq === seq))
  await waitFor(async () => (await historyOf(stores, monitorId)).length === seq)
  await neighbour.close()
})

t.test('unknown fields of an envelope are ignored', async (t) => {
  const { monitorId, agent, gateway } = await gatewayTenantFor(t)
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  socket.send({ type: 'hello', stream: randomUUID(), first: 1, color: 'blue' })
  await socket.next('welcome')
  socket.send({ type: 'heartbeats', seq: 1, items: [heartbeatOf(monitorId)], color: 'blue' })
  t.equal((await socket.next('ack')).seq, 1)
  await socket.close()
})

t.test('more than 64 unacknowledged frames end in 4429', async (t) => {
  const { monitorId, agent, gateway } = await gatewayTenantFor(t)
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await socket.hello()
  for (let seq = 1; seq <= 3000; seq++) socket.send({ type: 'heartbeats', seq, items: [heartbeatOf(monitorId)] })
  t.match(await socket.closed, { code: 4429, reason: 'too_many_in_flight' })
})

t.test('a socket without hello ends after 10 s and one that falls silent after 60 s, both with 4408', async (t) => {
  let skewMs = 0
  const { agent, tenant, monitorId, gateway } = await gatewayTenantFor(t, {
    monotonic: () => performance.now() + skewMs
  })
  const mute = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  skewMs += 11_000
  t.match(await mute.closed, { code: 4408, reason: 'silent' })

  const service = await tenant.addAgent([monitorId], { kind: 'service' })
  const stuck = await connectAgent({ url: gateway.url, apiKey: service.apiKey })
  await stuck.hello()
  skewMs += 61_000
  t.match(await stuck.closed, { code: 4408 })
})

t.test('a peer that never reads is closed, and what it holds back stays bounded', async (t) => {
  const { monitorId, agent, gateway } = await gatewayTenantFor(t)
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  await socket.hello()
  socket.pause()
  const bad = JSON.stringify(Array.from({ length: 500 }, () => heartbeatOf(monitorId, { status: 'x' })))
  for (let seq = 1; seq <= 400; seq++) socket.sendRaw(`{"type":"heartbeats","seq":${seq},"items":${bad}}`)
  const ended = socket.closed
  await waitFor(() => gateway.sockets() === 0, { timeoutMs: 20_000 })
  socket.resume()
  await ended
  t.pass('the gateway let go')
})

t.test('bytes that are no HTTP end the connection without disturbing the process', async (t) => {
  const { agent, gateway } = await gatewayTenantFor(t)
  for (const bytes of ['\x16\x03\x01\x02\x00', 'GET\r\n\r\n', `GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(5000)}\r\n`]) {
    const socket = connect(gateway.port, '127.0.0.1')
    socket.on('error', () => socket.destroy())
    socket.resume().end(bytes)
    await new Promise((resolve) => socket.on('close', resolve))
  }
  const socket = await connectAgent({ url: gateway.url, apiKey: agent.apiKey })
  t.ok((await socket.hello()).connection)
  await socket.close()
})
