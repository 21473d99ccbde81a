import { Client, type ClientBase, escapeLiteral, Pool, type PoolClient, type QueryResultRow, types } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Log } from './log.ts'

/** Keys of monitors and counts stay below 2^53 for longer than any table lives, so int8 is read as a number. */
types.setTypeParser(types.builtins.INT8, Number)

export type Role = 'pulsegate_api' | 'pulsegate_system'

/** What a statement runs on: a pool, or the connection of a transaction. */
export interface Queryable {
  /** With a `name` the connection keeps the plan: for statements that are planned longer than they run. */
  query<R extends QueryResultRow>(text: string, values?: unknown[], name?: string): Promise<R[]>
}

export interface Transaction extends Queryable {
  /** Sends one binary COPY stream; the statement is `copy … from stdin (format binary)`. */
  copyIn(statement: string, data: Buffer): Promise<void>
}

export interface Database extends Queryable {
  /** Runs `work` in one transaction; serialization failures and deadlocks are tried again. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /** The same with the tenant set, so that row-level security lets exactly that organization through. */
  tenant<T>(organizationId: string, work: (tx: Transaction) => Promise<T>): Promise<T>
  /** The same for a person: their own rows are let through, and those of the organization where one is given. */
  person<T>(userId: string, organizationId: string | null, work: (tx: Transaction) => Promise<T>): Promise<T>
  /**
   * Lends one connection without a transaction, for statements that cannot be in one, and closes it: what it still holds ends
   * with it.
   */
  session<T>(work: (session: Queryable) => Promise<T>): Promise<T>
  /** Resolves when the database answers. */
  ping(): Promise<void>
  stop(): Promise<void>
}

interface Options {
  url: string
  role: Role
  log: Log
  /** Most connections held. */
  max?: number
  /** Longest time a statement may take, in milliseconds; 0 means no limit. */
  statementTimeoutMs?: number
  /** Server settings of every connection. */
  settings?: Readonly<Record<string, string>>
}

/** serialization_failure, deadlock_detected: nothing was written, the same work may succeed now. */
const RETRYABLE = new Set(['40001', '40P01'])
const TRIES = 5
/**
 * A process that was frozen or cut off in a transaction holds its locks, and with them every other writer of the same
 * monitors, until the server ends it. No transaction of ours waits so long for anything but the database.
 */
const IDLE_IN_TRANSACTION_MS = 10_000

/** SQLSTATE of a Postgres error, or undefined for anything else. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  // No class begins with E: EPIPE is the socket's.
  return typeof code === 'string' && /^(?!E)[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/**
 * Is the database away or busy, rather than the statement wrong? Classes 08 (connection), 53 (resources), 57 (operator),
 * 58 (system), lock_not_available, read_only (a replica after fail-over), idle in transaction for too long (this process was
 * frozen), and socket errors, which carry no SQLSTATE.
 * A TypeError or RangeError is a fault of our own code, which no waiting heals.
 */
export function isTransient(error: unknown): boolean {
  const state = sqlState(error)
  if (state === undefined) return !(error instanceof TypeError || error instanceof RangeError)
  return /^(08|53|57|58)/.test(state) || RETRYABLE.has(state) || ['55P03', '25006', '25P03'].includes(state)
}

/**
 * Do program and schema not fit? Class 42: a table, column or right that is not there, as when a release came too late or
 * too early. It fails every statement of its kind alike, so it says nothing of the data.
 */
export function isMisfit(error: unknown): boolean {
  return sqlState(error)?.startsWith('42') === true
}

function queryable(client: Pick<PoolClient, 'query'>): Queryable {
  return {
    query: async <R extends QueryResultRow>(text: string, values: unknown[] = [], name?: string) =>
      (await client.query<R>({ text, values, ...(name === undefined ? {} : { name }) })).rows
  }
}

function copyIn(client: PoolClient, statement: string, data: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = client.query(copyFrom(statement))
    stream.on('error', reject)
    stream.on('finish', () => resolve())
    stream.end(data)
  })
}

/**
 * Why no connection comes about (away, starting, closed for maintenance, a password being changed) says nothing of the
 * work: it is always sqlclient_unable_to_establish_sqlconnection.
 */
async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect()
  } catch (cause) {
    const error = new Error(`no connection to the database: ${(cause as Error).message}`, { cause })
    throw Object.assign(error, { code: '08001' })
  }
}

/** A transaction's view of its connection, and the fault that the server did not answer a statement with. */
interface Session extends Transaction {
  lost?: Error
}

/**
 * A statement that ends without an answer of the server (no answer in time, connection lost) leaves a connection that is
 * dead or still busy with it: nothing more is to be sent there. A TypeError is of values that were never sent.
 */
function sessionOf(client: PoolClient): Session {
  const listen = async <T>(statement: Promise<T>): Promise<T> => {
    try {
      return await statement
    } catch (error) {
      if (sqlState(error) === undefined && isTransient(error)) session.lost = error as Error
      throw error
    }
  }
  const { query } = queryable(client)
  const session: Session = {
    query: (text, values, name) => listen(query(text, values, name)),
    copyIn: (statement, data) => listen(copyIn(client, statement, data))
  }
  return session
}

/** For whom the policies of row-level security let rows through. */
interface Identity {
  organizationId: string | null
  userId: string | null
}

const NOBODY: Identity = { organizationId: null, userId: null }

/** Several statements in one, and so one way to the server and back; they take no parameters. */
function beginAs({ organizationId, userId }: Identity): string {
  const set = (name: string, value: string | null) =>
    value === null ? '' : `; select set_config('app.${name}', ${escapeLiteral(value)}, true)`
  return `begin${set('organization_id', organizationId)}${set('user_id', userId)}`
}

async function once<T>(pool: Pool, identity: Identity, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const client = await connect(pool)
  const session = sessionOf(client)
  try {
    await session.query(beginAs(identity))
    const result = await work(session)
    await session.query('commit')
    return result
  } catch (error) {
    if (session.lost === undefined) {
      // A connection that cannot even roll back must not return to the pool.
      await session.query('rollback').catch((fault: Error) => {
        session.lost = fault
      })
    }
    throw error
  } finally {
    client.release(session.lost)
  }
}

async function transaction<T>(pool: Pool, identity: Identity, work: (tx: Transaction) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(pool, identity, work)
    } catch (error) {
      if (attempt === TRIES || !RETRYABLE.has(sqlState(error) ?? '')) throw error
    }
  }
}

async function session<T>(pool: Pool, work: (session: Queryable) => Promise<T>): Promise<T> {
  const client = await connect(pool)
  try {
    return await work(queryable(client))
  } finally {
    client.release(true)
  }
}

/**
 * A pool whose every connection runs as `role`: the role comes with the connection's start, so even `reset role` stays
 * there. Connections are made when first needed.
 */
export function connectDb({ url, role, log, max = 10, statementTimeoutMs = 15_000, settings }: Options): Database {
  const pool = new Pool({
    connectionString: url,
    options: Object.entries({ role, ...settings })
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
    application_name: role,
    max,
    connectionTimeoutMillis: 5000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    ...(statementTimeoutMs > 0
      ? { statement_timeout: statementTimeoutMs, query_timeout: statementTimeoutMs + 2000 }
      : {})
  })
  // A lost connection is replaced at its next use; unhandled it would end the process. The pool listens to the idle ones
  // only, so one that is lost between two statements of a transaction has to be heard here.
  pool.on('connect', (client) => {
    client.on('error', (error) => log.warn({ err: error }, 'a database connection was lost'))
  })
  pool.on('error', () => undefined)
  return {
    ...queryable(pool),
    transaction: (work) => transaction(pool, NOBODY, work),
    tenant: (organizationId, work) => transaction(pool, { organizationId, userId: null }, work),
    person: (userId, organizationId, work) => transaction(pool, { organizationId, userId }, work),
    session: (work) => session(pool, work),
    ping: async () => {
      await pool.query('select 1')
    },
    stop: () => pool.end()
  }
}

/** Lends one connection of its own, as the role of the address, and closes it whole: for the release step. */
export async function withClient<T>(url: string, work: (client: ClientBase) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
