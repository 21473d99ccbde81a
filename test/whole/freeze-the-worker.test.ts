import t from 'tap'
import { openStores, type Stores } from '../support/ingest.ts'
import { NO_VIOLATION } from '../support/judge.ts'
import { type KillableProcess, startKillable } from '../support/killable-process.ts'
import { startLoad } from '../support/load.ts'
import { waitFor } from '../support/wait-for.ts'

/** Stops the worker between two statements of a transaction: what it wrote is there, locked and not committed. */
async function freezeInTransaction(stores: Stores, worker: KillableProcess): Promise<void> {
  const open = async () => {
    // The state is written after the rows, so this lock tells that those have arrived.
    const found = await stores.db.query(
      `select 1 from pg_locks l join pg_database d on d.oid = l.database
       where d.datname = current_database() and l.relation = 'monitor_states'::regclass and l.mode = 'RowExclusiveLock'`
    )
    return found.length > 0
  }
  await waitFor(
    async () => {
      worker.signal('SIGSTOP')
      // Twice: a commit that was already on its way lets go of it in between.
      if ((await open()) && (await open())) return true
      worker.signal('SIGCONT')
      return false
    },
    { what: 'the worker is stopped in a transaction', timeoutMs: 20_000 }
  )
}

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
