import { test } from 'tap'
import { connectDb, sqlState } from '../../shared/db.ts'
import { createLog } from '../../shared/log.ts'
import { cloneDatabase } from '../support/database.ts'

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

test('every table with row-level security has a policy for the API that names the tenant', async (t) => {
  const database = await cloneDatabase(t)
  const withoutPolicy = await database.query(`
    select c.relname
    from pg_class c
    where c.relrowsecurity and not exists (
      select from pg_policies p
      where p.tablename = c.relname and 'pulsegate_api' = any (p.roles) and p.qual like '%current_organization_id()%')`)
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
