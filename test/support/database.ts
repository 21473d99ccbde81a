import { randomBytes } from 'node:crypto'
import { Client, type QueryResultRow } from 'pg'

/** Made and migrated once a run by services.ts. */
export const TEMPLATE = 'pulsegate_template'

/** Whoever runs what was given to it when it ends: a tap test. */
export interface TearsDown {
  teardown(run: () => Promise<unknown>): void
}

export interface TestDatabase {
  url: string
  /** Asks as the server's superuser: no row-level security, every table. */
  query<R extends QueryResultRow>(text: string, values?: unknown[]): Promise<R[]>
  drop(): Promise<void>
}

/** The address of another database of the same server. */
export function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}

export async function withAdmin<T>(serverUrl: string, work: (admin: Client) => Promise<T>): Promise<T> {
  const admin = new Client({ connectionString: databaseUrl(serverUrl, 'postgres') })
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.end()
  }
}

/** The address of a store of this test run. @throws outside of `npm test`, which starts them. */
export function storeUrl(variable: 'TEST_DATABASE_URL' | 'TEST_REDIS_URL'): string {
  const url = process.env[variable]
  if (!url) throw new Error(`${variable} is not set. Run this file by: npm test -- ${process.argv[1] ?? '<file>'}`)
  return url
}

/** A database of the test's own, with the whole schema and no rows. It is dropped when the test ends. */
export async function cloneDatabase(t: TearsDown): Promise<TestDatabase> {
  const server = storeUrl('TEST_DATABASE_URL')
  const name = `test_${randomBytes(6).toString('hex')}`
  // file_copy: 22 ms against 90 by wal_log, measured where nothing is forced to the disk.
  await withAdmin(server, (admin) => admin.query(`create database ${name} template ${TEMPLATE} strategy file_copy`))
  const url = databaseUrl(server, name)
  let client: Promise<Client> | undefined
  const connect = async () => {
    const opened = new Client({ connectionString: url })
    await opened.connect()
    return opened
  }
  const drop = async () => {
    await (await client)?.end()
    client = undefined
    await withAdmin(server, (admin) => admin.query(`drop database if exists ${name} with (force)`))
  }
  t.teardown(drop)
  return {
    url,
    query: async <R extends QueryResultRow>(text: string, values?: unknown[]) => {
      client ??= connect()
      return (await (await client).query<R>(text, values)).rows
    },
    drop
  }
}
