import { randomBytes, randomUUID } from 'node:crypto'
import { type Test, test } from 'tap'
import { connectDb, type Database, sqlState } from '../../shared/db.ts'
import { createLog } from '../../shared/log.ts'
import { createSecrets, type Secrets } from '../../shared/secrets.ts'
import { cloneDatabase } from '../support/database.ts'
import { createTenant } from '../support/tenant.ts'

const log = createLog('test', 'fatal')

test('every table with an organization has row-level security, forced unless the ingest role owns it', async (t) => {
  const database = await cloneDatabase(t)
  const unguarded = await database.query(`
    select c.relname
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition
      and (c.relname = 'organizations' or exists (
        select from pg_attribute a where a.attrelid = c.oid and a.attname = 'organization_id' and not a.attisdropped))
      and not (c.relrowsecurity and (c.relforcerowsecurity or pg_get_userbyid(c.relowner) = 'pulsegate_system'))`)
  t.same(unguarded, [])
})

test('every table with row-level security has a policy for the API that names the tenant, or the person', async (t) => {
  const database = await cloneDatabase(t)
  const withoutPolicy = await database.query(`
    select c.relname
    from pg_class c
    where c.relrowsecurity and not exists (
      select from pg_policies p
      where p.tablename = c.relname and 'pulsegate_api' = any (p.roles) and p.qual ~ 'current_(organization|user)_id\\(\\)')`)
  t.same(withoutPolicy, [])
})

test('no role needs a special attribute', async (t) => {
  const database = await cloneDatabase(t)
  const special = await database.query(`
    select rolname from pg_roles where rolname like 'pulsegate%' and (rolsuper or rolbypassrls or rolcanlogin)`)
  t.same(special, [])
})

test('every function that runs with more rights than its caller has a fixed search path and is not public', async (t) => {
  const database = await cloneDatabase(t)
  const loose = await database.query(`
    select p.proname
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = 'public' and p.prosecdef
      and (not coalesce(array_to_string(p.proconfig, ',') like '%search_path=%', false)
        or has_function_privilege('public', p.oid, 'execute'))`)
  t.same(loose, [])
})

test('every foreign key between tables with an organization compares the organization as well', async (t) => {
  const database = await cloneDatabase(t)
  const loose = await database.query(`
    select f.conname
    from pg_constraint f
      join pg_attribute target on target.attrelid = f.confrelid and target.attname = 'organization_id'
      join pg_attribute source on source.attrelid = f.conrelid and source.attname = 'organization_id'
    where f.contype = 'f' and not target.attnum = any (f.confkey)`)
  t.same(loose, [])
})

test('the API cannot read a day of heartbeats around the policy of the whole table', async (t) => {
  const database = await cloneDatabase(t)
  await database.query(`
    set role pulsegate_system;
    create table heartbeats_of_a_test partition of heartbeats for values from ('2001-01-01') to ('2001-01-02')`)
  const api = connectDb({ url: database.url, role: 'pulsegate_api', log })
  t.teardown(() => api.stop())
  t.same(await api.query('select * from heartbeats'), [])
  await t.rejects(
    api.query('select * from heartbeats_of_a_test').catch((error) => {
      throw new Error(sqlState(error))
    }),
    { message: '42501' }
  )
})

/** What one organization has, by the ids that the tables know it by. */
async function belongingsOf(system: Database, secrets: Secrets) {
  const tenant = await createTenant(system, secrets)
  const monitorId = await tenant.addMonitor()
  const agentId = (await tenant.addAgent([monitorId])).id
  const [{ key } = { key: 0 }] = await system.query<{ key: number }>('select key from monitors where id = $1', [
    monitorId
  ])
  const userId = randomUUID()
  await system.query('insert into users (id, email, name) values ($1, $2, $3)', [userId, `${userId}@example.com`, 'X'])
  await system.query("insert into memberships (organization_id, user_id, role) values ($1, $2, 'owner')", [
    tenant.organizationId,
    userId
  ])
  return { organizationId: tenant.organizationId, tenant, monitorId, key, agentId, userId }
}

async function sceneOf(t: Test) {
  const { url } = await cloneDatabase(t)
  const system = connectDb({ url, role: 'pulsegate_system', log })
  const api = connectDb({ url, role: 'pulsegate_api', log })
  t.teardown(async () => {
    await api.stop()
    await system.stop()
  })
  const secrets = createSecrets(randomBytes(32).toString('base64'))
  const ours = await belongingsOf(system, secrets)
  const theirs = await belongingsOf(system, secrets)
  await ours.tenant.addPushUrl(ours.monitorId)
  // Their monitor has neither state nor push URL: else those would be in the way first.
  await system.query('delete from monitor_states where monitor_key = $1', [theirs.key])
  /** SQLSTATE of what the API does in our name, or 'none'. */
  const faultOf = (statement: string, values: unknown[] = []) =>
    api
      .tenant(ours.organizationId, (tx) => tx.query(statement, values))
      .then(
        () => 'none',
        (error) => sqlState(error) ?? String(error)
      )
  return { api, ours, theirs, faultOf }
}

const NEW_KEY = `insert into api_keys (id, organization_id, agent_id, digest, pepper_version, prefix, suffix)
  values (gen_random_uuid(), $1, $2, 'x', 1, 'p', 's')`
const NEW_PUSH_URL = `insert into push_urls (id, organization_id, monitor_key, token_digest, token_sealed, pepper_version)
  values (gen_random_uuid(), $1, $2, 'x', 'x', 1)`
const NEW_SET = 'insert into agent_monitors (organization_id, agent_id, monitor_key) values ($1, $2, $3)'

test('the API ties nothing of one organization to anything of another', async (t) => {
  const { ours, theirs, faultOf } = await sceneOf(t)
  const us = ours.organizationId
  const ties: Array<[what: string, statement: string, values: unknown[]]> = [
    ['an API key of their agent', NEW_KEY, [us, theirs.agentId]],
    ['our API key becomes their agent’s', 'update api_keys set agent_id = $1', [theirs.agentId]],
    ['their monitor in the set of our agent', NEW_SET, [us, ours.agentId, theirs.key]],
    ['our monitor in the set of their agent', NEW_SET, [us, theirs.agentId, ours.key]],
    ['our set becomes theirs', 'update agent_monitors set monitor_key = $1', [theirs.key]],
    ['a push URL of their monitor', NEW_PUSH_URL, [us, theirs.key]],
    ['our push URL becomes their monitor’s', 'update push_urls set monitor_key = $1', [theirs.key]],
    ['our state becomes that of their monitor', 'update monitor_states set monitor_key = $1', [theirs.key]]
  ]
  for (const [what, statement, values] of ties) t.equal(await faultOf(statement, values), '23503', what)
  t.equal(await faultOf(NEW_KEY, [us, ours.agentId]), 'none', 'what is its own it may tie')
})

test('the API makes nobody a member who belongs to an organization already', async (t) => {
  const { api, ours, theirs, faultOf } = await sceneOf(t)
  const join = "insert into memberships (organization_id, user_id, role) values ($1, $2, 'member')"
  t.equal(await faultOf(join, [ours.organizationId, theirs.userId]), '42501')
  t.equal(await faultOf('update memberships set user_id = $1', [theirs.userId]), '42501')
  t.equal(await faultOf("update memberships set role = 'admin'"), 'none')
  const newcomer = randomUUID()
  await api.tenant(ours.organizationId, async (tx) => {
    await tx.query('insert into users (id, email, name, password_hash) values ($1, $2, $3, $4)', [
      newcomer,
      'newcomer@example.com',
      'Newcomer',
      'hash'
    ])
    await tx.query(join, [ours.organizationId, newcomer])
    t.same(await tx.query('select name from users where id = $1', [newcomer]), [{ name: 'Newcomer' }])
    t.same(await tx.query('select id from users where id = $1', [theirs.userId]), [])
  })
})

test('the API neither reads a password nor changes what belongs to the operator', async (t) => {
  const { faultOf } = await sceneOf(t)
  for (const statement of [
    'select password_hash from users',
    'select * from users',
    "update organizations set plan = 'business'",
    'update organizations set suspended_at = null'
  ]) {
    t.equal(await faultOf(statement), '42501', statement)
  }
  t.equal(await faultOf("update organizations set name = 'Ours'"), 'none')
})

test('an organization cannot give its people a password: only the person can', async (t) => {
  const { api, ours } = await sceneOf(t)
  const change = "update users set password_hash = 'hash' where id = $1 returning id"
  t.same(await api.tenant(ours.organizationId, (tx) => tx.query(change, [ours.userId])), [])
  t.same(await api.person(ours.userId, null, (tx) => tx.query(change, [ours.userId])), [{ id: ours.userId }])
})
