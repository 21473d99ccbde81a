import { test } from 'tap'
import { migrate } from '../../scripts/migrate.ts'
import { connectDb } from '../../shared/db.ts'
import { createLog } from '../../shared/log.ts'
import { requireSchema } from '../../shared/schema.ts'
import { cloneDatabase, type TearsDown } from '../support/database.ts'

const log = createLog('test', 'fatal')

async function databaseFor(t: TearsDown) {
  const database = await cloneDatabase(t)
  const db = connectDb({ url: database.url, role: 'pulsegate_system', log })
  t.teardown(() => db.stop())
  return { database, db }
}

test('a migrated schema is accepted, and migrating again, twice at once, applies nothing', async (t) => {
  const { database, db } = await databaseFor(t)
  await t.resolves(requireSchema(db))
  t.same(await Promise.all([migrate(database.url, log), migrate(database.url, log)]), [[], []])
})

test('a schema that lacks a migration is refused by name, with the way out', async (t) => {
  const { database, db } = await databaseFor(t)
  await database.query("delete from pgmigrations where name = '0003_heartbeats'")
  await t.rejects(requireSchema(db), { name: 'StartupError', message: /lacks 0003_heartbeats.*npm run release/ })
})

test('a newer schema is accepted unless its migration says that older programs cannot live with it', async (t) => {
  const { database, db } = await databaseFor(t)
  await database.query("insert into pgmigrations (name, run_on) values ('9998_more', now())")
  await t.resolves(requireSchema(db))
  await database.query("insert into pgmigrations (name, run_on) values ('9999_breaking_less', now())")
  await t.rejects(requireSchema(db), {
    name: 'StartupError',
    message: /newer than this program \(9999_breaking_less\)/
  })
})

test('an empty database is refused with the way out', async (t) => {
  const { database, db } = await databaseFor(t)
  await database.query('drop table pgmigrations')
  await t.rejects(requireSchema(db), { name: 'StartupError', message: /no Pulsegate schema.*npm run release/ })
})
