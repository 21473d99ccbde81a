import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readIfThere } from './kept-file.ts'

/** The database of the embedded PostgreSQL. */
export const EMBEDDED_DATABASE = 'pulsegate'

/** Where PostgreSQL's files are when the user it has to run as cannot enter the data folder (local/postgres-place.ts). */
export function movedHome(dataDir: string): string {
  return join('/var/lib/pulsegate', createHash('sha256').update(resolve(dataDir)).digest('hex').slice(0, 16))
}

/** Once moved it stays there: beginning anew in the data folder would look like the loss of everything. */
export function wasMoved(dataDir: string): boolean {
  return existsSync(join(movedHome(dataDir), 'postgres', 'data')) && !existsSync(join(dataDir, 'postgres', 'data'))
}

/** Port and password as a store left them in its folder. */
function readPlace(dir: string): { port: string; password: string } | undefined {
  const [port, password] = [readIfThere(join(dir, 'port')), readIfThere(join(dir, 'password'))]
  return port === undefined || password === undefined ? undefined : { port: port.trim(), password: password.trim() }
}

/** The address of the PostgreSQL that `npm start` runs on this data folder; undefined when it never did. */
export function embeddedDatabaseUrl(dataDir: string): string | undefined {
  const place = readPlace(join(wasMoved(dataDir) ? movedHome(dataDir) : dataDir, 'postgres'))
  return place && `postgres://postgres:${place.password}@127.0.0.1:${place.port}/${EMBEDDED_DATABASE}`
}

/** The same for its Redis. */
export function embeddedRedisUrl(dataDir: string): string | undefined {
  const place = readPlace(join(dataDir, 'redis'))
  return place && `redis://:${place.password}@127.0.0.1:${place.port}`
}

/** The key that `npm start` made for itself. */
export function keptSecretsKey(dataDir: string): string | undefined {
  return readIfThere(join(dataDir, 'secrets-key'))?.trim()
}
