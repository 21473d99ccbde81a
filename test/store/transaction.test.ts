import { test } from 'tap'
import { connectDb, isTransient, sqlState } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { createLog } from '../../shared/log.ts'
import { cloneDatabase, type TearsDown } from '../support/database.ts'

const log = createLog('test', 'fatal')
const BACKEND = 'select pg_backend_pid() as pid'

/** A pool of one connection, so that whatever happens to it is seen by the next statement. */
async function databaseFor(t: TearsDown, statementTimeoutMs = 15_000) {
  const { url, query } = await cloneDatabase(t)
  const db = connectDb({ url, role: 'pulsegate_system', log, max: 1, statementTimeoutMs })
  t.teardown(() => db.stop())
  return { db, query }
}

test('a connection whose server does not answer is given up at once, without a wait for its rollback', async (t) => {
  const { db } = await databaseFor(t, 1000)
  const [before] = await db.query(BACKEND)
  const started = performance.now()
  const work = db.transaction(async (tx) => {
    // Else the server ends the statement before the driver loses patience.
    await tx.query('set local statement_timeout = 0')
    await tx.query('select pg_sleep(60)')
  })
  await t.rejects(work, { message: 'Query read timeout' })
  // 3 s is the driver's patience; a rollback would take as long again.
  t.ok(performance.now() - started < 5000)
  t.notSame(await db.query(BACKEND), [before], 'the next statement has a connection of its own')
})

test('a connection that was lost is given up even where the work tells another fault', async (t) => {
  const { db, query } = await databaseFor(t)
  const work = db.transaction(async (tx) => {
    const [{ pid } = { pid: 0 }] = await tx.query<{ pid: number }>(BACKEND)
    const told = tx.query('select pg_sleep(60)').catch((cause) => {
      throw new AppError('overloaded', { cause })
    })
    await Promise.all([told, query('select pg_terminate_backend($1)', [pid])])
  })
  await t.rejects(work, { code: 'overloaded' })
  t.match(await db.query(BACKEND), [{ pid: Number }])
})

test('a fault of the work or of a statement is rolled back, and its connection goes on', async (t) => {
  const { db } = await databaseFor(t)
  const before = await db.query(BACKEND)
  const circle: { self?: object } = {}
  circle.self = circle
  const faults: Array<
    [what: string, statement: string, values: unknown[], expected: { code: string } | { name: string }]
  > = [
    ['of the statement', 'select 1 / 0', [], { code: '22012' }],
    ['of a value that cannot be sent', 'select $1', [circle], { name: 'TypeError' }],
    ['of the work', 'select 1', [], { code: 'overloaded' }]
  ]
  for (const [what, statement, values, expected] of faults) {
    const work = db.transaction(async (tx) => {
      await tx.query("insert into organizations (id, name, plan) values (gen_random_uuid(), 'Lost', 'free')")
      await tx.query(statement, values)
      throw new AppError('overloaded')
    })
    await t.rejects(work, expected, what)
    t.same(await db.query(BACKEND), before, what)
    t.same(await db.query('select 1 from organizations'), [], what)
  }
})

test('a code of the socket is not taken for one of PostgreSQL', async (t) => {
  for (const code of ['EPIPE', 'ECONNRESET', 'ETIMEDOUT']) {
    const error = Object.assign(new Error(code), { code })
    t.equal(sqlState(error), undefined, code)
    t.equal(isTransient(error), true, code)
  }
  t.equal(sqlState({ code: 'P0001' }), 'P0001')
})
