import t from 'tap'
import { freezeInTransaction } from '../support/freeze-in-transaction.ts'
import { openStores } from '../support/ingest.ts'
import { NO_VIOLATION } from '../support/judge.ts'
import { startKillable } from '../support/killable-process.ts'
import { startLoad } from '../support/load.ts'

t.test('workers killed again and again under load lose and double nothing', { timeout: 100_000 }, async (t) => {
  const stores = await openStores(t)
  const [gateway, worker] = await Promise.all([startKillable(t, 'gateway', stores), startKillable(t, 'worker', stores)])
  const load = await startLoad(t, stores, () => `ws://127.0.0.1:${gateway.port()}/`)
  for (let kill = 0; kill < 2; kill++) {
    await load.moreAcked(500)
    await freezeInTransaction(stores, worker)
    await worker.crash()
  }
  const second = await startKillable(t, 'worker', stores)
  for (const victims of [[worker], [worker, second]]) {
    await load.randomMoment()
    await Promise.all(victims.map((victim) => victim.crash()))
  }
  t.same(await load.judgement(), NO_VIOLATION)
  t.ok(load.journal.acked > 3000, `${load.journal.acked} acknowledged`)
  t.same([...gateway.crashes, ...worker.crashes, ...second.crashes], [])
})
