import t from 'tap'
import { openStores } from '../support/ingest.ts'
import { NO_VIOLATION } from '../support/judge.ts'
import { startKillable } from '../support/killable-process.ts'
import { startLoad } from '../support/load.ts'

t.test('workers killed again and again under load lose and double nothing', { timeout: 100_000 }, async (t) => {
  const stores = await openStores(t)
  const [gateway, worker, second] = await Promise.all([
    startKillable(t, 'gateway', stores),
    startKillable(t, 'worker', stores),
    startKillable(t, 'worker', stores)
  ])
  const load = await startLoad(t, stores, () => `ws://127.0.0.1:${gateway.port()}/`)
  for (const victim of [worker, second, worker, second]) {
    await load.randomMoment()
    await victim.crash()
  }
  t.same(await load.judgement(), NO_VIOLATION)
  t.ok(load.journal.acked > 5000, `${load.journal.acked} acknowledged`)
  t.same([...gateway.crashes, ...worker.crashes, ...second.crashes], [])
})
