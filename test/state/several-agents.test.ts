import { t } from 'tap'
import type { ExplanationAnswer } from '../../shared/contract/history.ts'
import type { MonitorState } from '../../shared/contract/monitors.ts'
import type { HeartbeatStatus } from '../../shared/protocol/heartbeat.ts'
import { apiFor } from '../support/api.ts'
import { createAgent, createMonitor, join, signUp } from '../support/cast.ts'
import { connectAgent } from '../support/fake-agent.ts'
import { gatewayFor, openStores, workerFor } from '../support/ingest.ts'
import { waitFor } from '../support/wait-for.ts'

const stores = await openStores(t)
const api = await apiFor(t, stores)
const gateway = await gatewayFor(t, stores)
await workerFor(t, stores)
const alice = await signUp(api, 'Alice')

/** An agent with a socket of its own; what it says is durable when `says` resolves. */
async function agentFor(name: string, monitorId: string) {
  const { id, apiKey } = await createAgent(api, alice.jwt, { name, monitorIds: [monitorId] })
  const socket = await connectAgent({ url: gateway.url, apiKey })
  await socket.hello()
  let seq = 0
  async function says(status: HeartbeatStatus): Promise<void> {
    const timestamp = new Date().toISOString()
    const items = [{ monitorId, status, latency: 1, timestamp }]
    socket.send({ type: 'heartbeats', seq: ++seq, sentAt: timestamp, items })
    await socket.next('ack')
  }
  return { id, says, close: () => socket.close() }
}

t.test('three agents decide together by their sockets, and one that is deleted decides no more', async (t) => {
  const fields = { name: 'Shop', kind: 'http', target: 'https://example.com/', quorum: 'majority' }
  const monitor = await createMonitor(api, alice.jwt, fields)
  t.equal(monitor.quorum, 'majority')
  const path = `/v1/monitors/${monitor.id}/explain`
  const explain = async () => (await api.call('GET', path, { as: alice.jwt })).body as ExplanationAnswer
  /** The explanation, as soon as so many have voted and the state is that. */
  const reached = (votes: number, state: MonitorState) =>
    waitFor(
      async () => {
        const told = await explain()
        return told.votes.length === votes && told.state === state && told
      },
      { what: `${state} by ${votes}`, timeoutMs: 10_000 }
    )
  const [oslo, paris, tokyo] = await Promise.all(['oslo', 'paris', 'tokyo'].map((name) => agentFor(name, monitor.id)))
  if (oslo === undefined || paris === undefined || tokyo === undefined) throw new Error('an agent is missing')
  for (const agent of [oslo, paris, tokyo]) await agent.says('up')
  t.match((await reached(3, 'up')).sentence, /All 3 agents say up\./)
  await tokyo.says('down')
  const one = await waitFor(async () => {
    const told = await explain()
    return told.votes.some(({ status }) => status === 'down') && told
  })
  t.equal(one.state, 'up')
  t.match(one.sentence, /1 of 3 agents says down: tokyo\. It takes 2 of them to make it down\./)
  await paris.says('down')
  const two = await reached(3, 'down')
  t.match(two.sentence, /2 of 3 agents say down: paris, tokyo\. It takes 2 of them to make it down\./)
  t.match(two.votes, [
    { agentId: oslo.id, name: 'oslo', status: 'up' },
    { agentId: paris.id, name: 'paris', status: 'down' },
    { agentId: tokyo.id, name: 'tokyo', status: 'down' }
  ])
  const service = { name: 'Reads', kind: 'service', monitorIds: [monitor.id], scopes: ['monitors:read'] }
  const bob = await join(api, alice.jwt, 'Bob')
  for (const as of [bob.jwt, (await createAgent(api, alice.jwt, service)).apiKey]) {
    const { votes, sentence } = (await api.call('GET', path, { as })).body as ExplanationAnswer
    t.match(sentence, /2 of 3 agents say down\. It takes 2/, 'who may not read agents hears no names')
    t.same(
      votes.map((vote) => Object.keys(vote)),
      [1, 2, 3].map(() => ['status', 'timestamp'])
    )
  }
  const later = "select from monitor_states where check_at > now() + interval '10 seconds'"
  await waitFor(async () => (await stores.db.query(later)).length === 1, { what: 'the sweep has looked at the votes' })
  await api.call('DELETE', `/v1/agents/${paris.id}`, { as: alice.jwt })
  t.match((await reached(2, 'up')).sentence, /1 of 2 agents says down: tokyo\. It takes 2 of them/)
  await Promise.all([oslo, tokyo].map((agent) => agent.close()))
})

t.test('with one agent nothing is said of votes, and none are told of what comes by HTTP', async (t) => {
  const monitor = await createMonitor(api, alice.jwt, { name: 'Job', kind: 'heartbeat' })
  t.equal(monitor.quorum, 'any')
  const agent = await agentFor('lone', monitor.id)
  const explain = async () =>
    (await api.call('GET', `/v1/monitors/${monitor.id}/explain`, { as: alice.jwt })).body as ExplanationAnswer
  await agent.says('up')
  const told = await waitFor(async () => {
    const found = await explain()
    return found.votes.length > 0 && found
  })
  t.match(told.votes, [{ name: 'lone', status: 'up' }])
  t.notMatch(told.sentence, /agents? say/)
  const json = { monitorId: monitor.id, status: 'down', latency: 1, timestamp: new Date().toISOString() }
  t.equal((await api.call('POST', '/api/heartbeats', { as: alice.jwt, json })).status, 202)
  const byHand = await waitFor(async () => {
    const found = await explain()
    return found.state === 'down' && found
  })
  t.same(byHand.votes, [])
  await agent.close()
})
