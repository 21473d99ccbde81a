import { fileURLToPath } from 'node:url'
import { runner } from 'node-pg-migrate'
import { createLog, type Log } from '../shared/log.ts'
import { migrationsFolder } from '../shared/schema.ts'
import { readConfig } from './config.ts'

/**
 * Brings the schema of the database up to date: forward only, all pending files in one transaction, one process at a time
 * (an advisory lock makes a second one wait and then find nothing to do). Returns the names of what was applied.
 */
export async function migrate(databaseUrl: string, log: Log): Promise<string[]> {
  const applied = await runner({
    databaseUrl,
    dir: migrationsFolder(),
    migrationsTable: 'pgmigrations',
    direction: 'up',
    checkOrder: true,
    singleTransaction: true,
    advisoryLockMode: 'wait',
    logger: {
      debug: (text) => log.debug(text),
      info: (text) => log.debug(text),
      warn: (text) => log.warn(text),
      error: (text) => log.error(text)
    }
  })
  const names = applied.map((migration) => migration.name)
  log.info(
    { applied: names },
    names.length === 0 ? 'the database schema is up to date' : 'the database schema was migrated'
  )
  return names
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const log = createLog('release')
  try {
    await migrate(readConfig().DATABASE_URL, log)
  } catch (error) {
    log.fatal({ err: error }, 'the migration failed; nothing was changed')
    process.exitCode = 1
  }
}
