import { fileURLToPath } from 'node:url'
import { runner } from 'node-pg-migrate'
import { withClient } from '../shared/db.ts'
import { StartupError } from '../shared/env.ts'
import { createLog, type Log } from '../shared/log.ts'
import { migrationsFolder } from '../shared/schema.ts'
import { readConfig } from './config.ts'

/** What PostgreSQL tells of a fault beside its message. */
interface PostgresFault extends Error {
  code?: string
  detail?: string
  hint?: string
}

/**
 * Brings the schema of the database up to date: forward only, all pending files in one transaction, one process at a time
 * (an advisory lock makes a second one wait and then find nothing to do). Returns the names of what was applied.
 * @throws Error naming the migration that failed, with the fault as its cause; then nothing was changed.
 */
export async function migrate(databaseUrl: string, log: Log): Promise<string[]> {
  let current: string | undefined
  const notice = (text: string) => {
    current = /^### MIGRATION (\S+)/.exec(text)?.[1] ?? current
    log.debug(text)
  }
  try {
    const applied = await withClient(databaseUrl, (dbClient) =>
      runner({
        dbClient,
        dir: migrationsFolder(),
        migrationsTable: 'pgmigrations',
        direction: 'up',
        checkOrder: true,
        singleTransaction: true,
        advisoryLockMode: 'wait',
        // Its errors hold the whole file; the one that counts is thrown as well.
        logger: { debug: notice, info: notice, warn: notice, error: notice }
      })
    )
    const names = applied.map((migration) => migration.name)
    log.info(
      { applied: names },
      names.length === 0 ? 'the database schema is up to date' : 'the database schema was migrated'
    )
    return names
  } catch (cause) {
    const { message, code } = cause as PostgresFault
    // A refused connection to a name with several addresses has a code and no message.
    const reason = message || code || String(cause)
    const what = current === undefined ? 'the database could not be migrated' : `the migration ${current} failed`
    throw new Error(`${what}, nothing was changed: ${reason}`, { cause })
  }
}

/** Exit codes: 0 up to date, 1 failed, 78 bad configuration. */
async function main(): Promise<number> {
  const log = createLog('release')
  try {
    await migrate(readConfig().DATABASE_URL, log)
    return 0
  } catch (error) {
    if (error instanceof StartupError) {
      log.fatal(error.message)
      return 78
    }
    const { message, cause } = error as Error
    const { code, detail, hint } = (cause ?? {}) as PostgresFault
    log.fatal({ code, detail, hint }, message)
    return 1
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main()
