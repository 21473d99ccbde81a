import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type Test, test } from 'tap'
import { startPostgres } from '../../local/postgres.ts'
import { migrate } from '../../scripts/migrate.ts'
import { createLog } from '../../shared/log.ts'
import { migrationsFolder } from '../../shared/schema.ts'
import { dataDirFor } from '../support/data-dir.ts'
import { cloneDatabase, databaseUrl, withAdmin } from '../support/database.ts'
import { waitFor } from '../support/wait-for.ts'

const log = createLog('test', 'fatal')
const MIGRATIONS = readdirSync(migrationsFolder()).filter((file) => file.endsWith('.sql')).length

interface Ran {
  code: number
  lines: Array<Record<string, unknown>>
}

/** Runs the release step as an operator does. */
async function release(env: Record<string, string>): Promise<Ran> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'scripts/migrate.ts'], { env })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  const [code] = (await once(child, 'close')) as [number]
  const lines = out.split('\n').filter((line) => line !== '')
  return { code, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) }
}

test('a release without a database address says so in one sentence and exits as badly configured', async (t) => {
  for (const env of [{}, { DATABASE_URL: 'mysql://127.0.0.1/x' }] as Array<Record<string, string>>) {
    const { code, lines } = await release(env)
    t.equal(code, 78)
    t.match(lines, { length: 1, 0: { level: 'fatal', msg: /configuration is not right\. DATABASE_URL: must b/ } })
    t.notOk(lines[0]?.err, 'without a stack')
  }
})

test('a release that no database answers says why in one line', async (t) => {
  const { code, lines } = await release({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })
  t.equal(code, 1)
  t.match(lines, {
    length: 1,
    0: { level: 'fatal', msg: /could not be migrated, nothing was changed: .*ECONNREFUSED/ }
  })
})

test('a migration that fails is named with what PostgreSQL says of it, in one line', async (t) => {
  const database = await cloneDatabase(t)
  // The first that is run again finds its function made already.
  await database.query("delete from pgmigrations where name >= '0004'")
  const { code, lines } = await release({ DATABASE_URL: database.url })
  t.equal(code, 1)
  t.match(lines, { length: 1, 0: { level: 'fatal', code: '42723' } })
  t.equal(
    lines[0]?.msg,
    'the migration 0004_identity failed, nothing was changed: function "current_user_id" already exists with same argument types'
  )
})

/** A server of the test's own, for roles belong to a whole server; and how to make a database with its own login. */
async function serverFor(t: Test) {
  const quiet = { info: () => undefined, warn: () => undefined }
  const postgres = await startPostgres({ dataDir: await dataDirFor(t), log: quiet, fast: true })
  const admin = (statement: string) => withAdmin(postgres.url, (client) => client.query(statement))
  t.teardown(async () => {
    // A migration resolves a little before its connection is closed.
    const others = "select from pg_stat_activity where usename in ('plain', 'maker', 'late')"
    await waitFor(async () => (await admin(others)).rowCount === 0)
    await postgres.stop()
  })
  const loginFor = async (name: string, attributes: string): Promise<string> => {
    const password = randomBytes(8).toString('hex')
    await admin(`create role ${name} login ${attributes} password '${password}'`)
    await admin(`create database ${name} owner ${name}`)
    const url = new URL(databaseUrl(postgres.url, name))
    url.username = name
    url.password = password
    return url.href
  }
  return { admin, loginFor }
}

test('a login that may make roles migrates without an administrator; others are told what one has to run', async (t) => {
  const { admin, loginFor } = await serverFor(t)
  const plain = await loginFor('plain', '')
  await t.rejects(migrate(plain, log), {
    message:
      'the migration 0001_tenants failed, nothing was changed: the login plain may not make or grant the roles of ' +
      'Pulsegate. An administrator of the server has to run once: ' +
      'create role pulsegate_owner nologin; grant pulsegate_owner to plain; ' +
      'create role pulsegate_api nologin; grant pulsegate_api to plain; ' +
      'create role pulsegate_system nologin; grant pulsegate_system to plain;'
  })
  const maker = await loginFor('maker', 'createrole')
  t.equal((await migrate(maker, log)).length, MIGRATIONS, 'makes the roles')
  const late = await loginFor('late', 'createrole noinherit')
  const refused =
    /has to run once: grant pulsegate_owner to late; grant pulsegate_api to late; grant pulsegate_system to late;$/
  await t.rejects(migrate(late, log), { message: refused }, 'another made the roles')
  for (const role of ['owner', 'api', 'system']) await admin(`grant pulsegate_${role} to plain, late`)
  t.equal((await migrate(plain, log)).length, MIGRATIONS, 'is a member')
  t.equal((await migrate(late, log)).length, MIGRATIONS, 'is a member that has their rights only as them')
})
