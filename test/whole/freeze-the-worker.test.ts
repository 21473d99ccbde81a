import t from 'tap'
import { freezeInTransaction } from '../support/freeze-in-transaction.ts'
import { openStores } from '../support/ingest.ts'
import { NO_VIOLATION } from '../support/judge.ts'
import { startKillable } from '../support/killable-process.ts'
import { startLoad } from '../support/load.ts'

t.test(
  'a worker that sleeps past its locks holds nobody up and changes nothing when it wakes',
  { timeout: 100_000 },
  async (t) => {
    const stores = await openStores(t)
    const [gateway, worker] = await Promise.all([
      startKillable(t, 'gateway', stores),
      startKillable(t, 'worker', stores)
    ])
    const load = await startLoad(t, stores, () => `ws://127.0.0.1:${gateway.port()}/`)
    await load.moreAcked(1000)
    await freezeInTransaction(stores, worker)
    const second = await startKillable(t, 'worker', stores)
    await load.randomMoment()
    t.same(await load.judgement(), NO_VIOLATION)
    worker.signal('SIGCONT')
    worker.signal('SIGTERM')
    t.match(await worker.ended(), { code: 0 })
    t.same(await load.judge(), NO_VIOLATION)
    t.same([...gateway.crashes, ...worker.crashes, ...second.crashes], [])
  }
)
