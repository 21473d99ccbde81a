import t from 'tap'
import { openStores } from '../support/ingest.ts'
import { NO_VIOLATION } from '../support/judge.ts'
import { startKillable } from '../support/killable-process.ts'
import { startLoad } from '../support/load.ts'
import { waitFor } from '../support/wait-for.ts'

const KILLS = 4

t.test('a gateway killed or stopped under load loses nothing that it acknowledged', { timeout: 60_000 }, async (t) => {
  const stores = await openStores(t)
  const [gateway, worker] = await Promise.all([startKillable(t, 'gateway', stores), startKillable(t, 'worker', stores)])
  const load = await startLoad(t, stores, () => `ws://127.0.0.1:${gateway.port()}/`)
  for (let kill = 0; kill < KILLS; kill++) {
    await load.randomMoment()
    await gateway.crash()
  }
  for (const { closeCodes } of load.agents) t.ok(closeCodes.includes(1006), 'every agent felt it')

  await waitFor(() => load.agents.every((agent) => agent.connected()))
  gateway.signal('SIGTERM')
  t.match(await gateway.ended(), { code: 0 })
  await gateway.start()
  await load.randomMoment()
  for (const { closeCodes } of load.agents) t.equal(closeCodes.at(-1), 1012, 'every agent was asked to come back')

  t.same(await load.judgement(), NO_VIOLATION)
  t.ok(load.journal.acked > 3000, `${load.journal.acked} acknowledged`)
  t.same([...gateway.crashes, ...worker.crashes], [])
})
