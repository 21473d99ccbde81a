import { t } from 'tap'
import { v7 as uuidv7 } from 'uuid'
import { connectDb } from '../../shared/db.ts'
import { createLog } from '../../shared/log.ts'
import { cloneDatabase } from '../support/database.ts'

/**
 * Whatever table there is, one row of each of two organizations is put into it: by its columns alone, so that a new table is
 * under test without a word here. What keeps rows true to each other is taken off this copy of the database before.
 */
const database = await cloneDatabase(t)
const db = connectDb({ url: database.url, role: 'pulsegate_api', log: createLog('test', 'fatal'), max: 2 })
t.teardown(() => db.stop())
const [ours, theirs] = [uuidv7(), uuidv7()]

interface Table {
  name: string
  partitioned: boolean
}

const tables = await database.query<Table>(`
  select c.relname as name, c.relkind = 'p' as partitioned
  from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'organization_id' and not a.attisdropped
  where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition
  order by c.relname`)

interface Column {
  name: string
  type: string
  kind: string
  first_label: string | null
}

/** Columns of a table that have to be given. */
function neededColumns(table: string): Promise<Column[]> {
  return database.query<Column>(`
    select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, y.typtype as kind,
      (select e.enumlabel from pg_enum e where e.enumtypid = a.atttypid order by e.enumsortorder limit 1) as first_label
    from pg_attribute a join pg_type y on y.oid = a.atttypid
    where a.attrelid = '${table}'::regclass and a.attnum > 0 and not a.attisdropped and a.attnotnull
      and not a.atthasdef and a.attidentity = ''`)
}

let last = 0

/** SQL of a value of this column that no other row has, where its type has many. */
function valueFor({ name, type, kind, first_label }: Column, organizationId: string): string {
  if (name === 'organization_id') return `'${organizationId}'`
  if (kind === 'e') return `'${first_label}'`
  if (type.endsWith('[]')) return "'{}'"
  last++
  switch (type) {
    case 'uuid':
      return 'gen_random_uuid()'
    case 'text':
      return `'text ${last}'`
    case 'bytea':
      return `'\\x${last.toString(16).padStart(8, '0')}'`
    case 'jsonb':
      return "'{}'"
    case 'boolean':
      return 'false'
    case 'timestamp with time zone':
    case 'date':
      return 'now()'
    default:
      return String(last)
  }
}

async function loosen({ name, partitioned }: Table): Promise<void> {
  const constraints = await database.query<{ conname: string }>(
    `select conname from pg_constraint where conrelid = '${name}'::regclass and contype in ('c', 'f')`
  )
  for (const { conname } of constraints) await database.query(`alter table ${name} drop constraint "${conname}"`)
  if (partitioned) await database.query(`create table ${name}_of_a_test partition of ${name} default`)
}

async function fill({ name }: Table): Promise<void> {
  const columns = await neededColumns(name)
  for (const organizationId of [ours, theirs]) {
    await database.query(
      `insert into ${name} (${columns.map((column) => `"${column.name}"`).join(', ')})
       values (${columns.map((column) => valueFor(column, organizationId)).join(', ')})`
    )
  }
}

for (const table of tables) await loosen(table)
for (const table of tables) await fill(table)

/** Whose rows these are. */
function ownersOf(rows: ReadonlyArray<{ organization_id: string }>): string[] {
  return rows.map(({ organization_id: id }) => (id === ours ? 'ours' : id === theirs ? 'theirs' : id)).sort()
}

/** Rows that a statement of the API brings or touches in our name, taken back afterwards; 'forbidden' when it may not at all. */
async function touchedBy(statement: string): Promise<string[] | 'forbidden'> {
  const undone = new Error('taken back')
  let owners: string[] = []
  try {
    await db.tenant(ours, async (tx) => {
      owners = ownersOf(await tx.query<{ organization_id: string }>(statement))
      throw undone
    })
  } catch (error) {
    if ((error as { code?: string }).code === '42501') return 'forbidden'
    if (error !== undone) throw error
  }
  return owners
}

for (const { name } of tables) {
  const everything = `select organization_id from ${name}`

  t.test(`everything in ${name} is, for an organization, what is its own`, async (t) => {
    const all = ownersOf(await database.query<{ organization_id: string }>(everything))
    t.same(all, ['ours', 'theirs'])
    const seen = await touchedBy(everything)
    if (seen === 'forbidden') return
    t.same(seen, ['ours'])
    t.same(await db.transaction((tx) => tx.query(everything)), [], 'whoever names no organization sees nothing')
    t.same(await db.tenant(uuidv7(), (tx) => tx.query(everything)), [], 'nor who names one that is not there')
    t.same(await db.person(uuidv7(), null, (tx) => tx.query(everything)), [], 'nor a person without one')
  })

  t.test(`changing and deleting all ${name} leaves those of others alone`, async (t) => {
    for (const statement of [
      `update ${name} set organization_id = organization_id returning organization_id`,
      `delete from ${name} returning organization_id`
    ]) {
      const touched = await touchedBy(statement)
      if (touched !== 'forbidden') t.same(touched, ['ours'], statement)
    }
  })
}
