import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Queryable } from './db.ts'
import { StartupError } from './env.ts'

/** The package's `migrations/`, seen from the source tree and from dist/ alike. */
export function migrationsFolder(): string {
  const fromDist = import.meta.url.includes('/dist/shared/')
  return fileURLToPath(new URL(fromDist ? '../../migrations' : '../migrations', import.meta.url))
}

/** Names of the migrations that this code was written for. */
function knownMigrations(): string[] {
  return readdirSync(migrationsFolder())
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
}

/**
 * Refuses a database that this code cannot work on: one that lacks a migration, or one with a newer migration whose name
 * says `breaking` (a newer one that does not is made so that older code lives with it: expand first, contract later).
 * @throws StartupError
 */
export async function requireSchema(db: Queryable): Promise<void> {
  const known = knownMigrations()
  let applied: string[]
  try {
    applied = (await db.query<{ name: string }>('select name from pgmigrations')).map(({ name }) => name)
  } catch (cause) {
    throw new StartupError(
      `DATABASE_URL: the database has no Pulsegate schema, or cannot be reached (${(cause as Error).message}). ` +
        'Run the release step first: npm run release.',
      { cause }
    )
  }
  const missing = known.filter((name) => !applied.includes(name))
  if (missing.length > 0) {
    throw new StartupError(
      `DATABASE_URL: the schema lacks ${missing.join(', ')}. Run the release step: npm run release.`
    )
  }
  const breaking = applied.filter((name) => !known.includes(name) && name.includes('breaking'))
  if (breaking.length > 0) {
    throw new StartupError(
      `DATABASE_URL: the schema is newer than this program (${breaking.join(', ')}). Update the program.`
    )
  }
}
