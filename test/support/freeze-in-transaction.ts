import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Stores } from './ingest.ts'
import type { KillableProcess } from './killable-process.ts'
import { waitFor } from './wait-for.ts'

/** Between two statements of a transaction in which rows were written. */
const BETWEEN_WRITING_AND_COMMITTING = `
  select 1 from pg_stat_activity a join pg_locks l on l.pid = a.pid
  where a.datname = current_database() and a.state = 'idle in transaction'
    and l.relation = 'heartbeats'::regclass and l.mode = 'RowExclusiveLock'`

/** As the superuser, who alone sees what the sessions of others do. */
async function watching<T>({ databaseUrl }: Stores, work: (holds: () => Promise<boolean>) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return await work(async () => (await client.query(BETWEEN_WRITING_AND_COMMITTING)).rows.length > 0)
  } finally {
    await client.end()
  }
}

/**
 * Stops the only worker at the worst moment, between writing and committing: what it wrote is there, locked and not
 * committed. It needs a load.
 */
export async function freezeInTransaction(stores: Stores, worker: KillableProcess): Promise<void> {
  await watching(stores, (holds) =>
    waitFor(
      async () => {
        worker.signal('SIGSTOP')
        if (await holds()) {
          // Its next statement may have been on its way already; then it is not where we want it.
          await sleep(20)
          if (await holds()) return true
        }
        worker.signal('SIGCONT')
        return false
      },
      { what: 'the worker is stopped in a transaction', timeoutMs: 30_000 }
    )
  )
}

/** Wakes it, and resolves when its transaction has ended. */
export async function thawToCommit(stores: Stores, worker: KillableProcess): Promise<void> {
  worker.signal('SIGCONT')
  const isOpen = `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
    and xact_start is not null`
  const client = new Client({ connectionString: stores.databaseUrl })
  await client.connect()
  try {
    await waitFor(async () => (await client.query(isOpen)).rows.length === 0, { what: 'the worker has committed' })
  } finally {
    await client.end()
  }
}
