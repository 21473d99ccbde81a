import { t } from 'tap'
import { v7 as uuidv7 } from 'uuid'
import { connectDb } from '../../shared/db.ts'
import { createLog } from '../../shared/log.ts'
import { apiFor } from '../support/api.ts'
import { createAgent, createMonitor, type Person, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'

const stores = await openStores(t)
const api = await apiFor(t, stores)
const db = connectDb({ url: stores.databaseUrl, role: 'pulsegate_api', log: createLog('test', 'fatal'), max: 2 })
t.teardown(() => db.stop())

/** A row of this person's organization in every table that the routes of this test do not fill. */
async function fillTables(person: Person): Promise<void> {
  const { organizationId, id: userId, jwt } = person
  const monitor = await createMonitor(api, jwt, { name: 'One', kind: 'push' })
  const agent = await createAgent(api, jwt, { name: 'One', kind: 'agent', monitorIds: [monitor.id] })
  const rows: Array<[statement: string, values: unknown[]]> = [
    [
      `insert into heartbeats (monitor_key, "timestamp", received_at, source_id, organization_id, status)
       select key, '2001-01-01 12:00Z', now(), $2, $3, 1 from monitors where id = $1`,
      [monitor.id, agent.id, organizationId]
    ],
    [
      `insert into transitions (monitor_key, organization_id, from_state, to_state, at, reason)
       select key, $2, 'pending', 'up', now(), 'heartbeat' from monitors where id = $1`,
      [monitor.id, organizationId]
    ],
    [
      `insert into invitations (id, organization_id, email, role, token_digest, pepper_version, invited_by, expires_at)
       values ($1, $2, 'bob@example.com', 'member', $3, 1, $4, now())`,
      [uuidv7(), organizationId, Buffer.from(organizationId), userId]
    ],
    [
      `insert into sso_connections (id, organization_id, provider, tenant, domain, proof_token)
       values ($1, $2, 'google', 'example.com', 'example.com', 'proof')`,
      [uuidv7(), organizationId]
    ]
  ]
  for (const [statement, values] of rows) await stores.db.query(statement, values)
}

await stores.db.query(
  "create table heartbeats_of_a_test partition of heartbeats for values from ('2001-01-01') to ('2001-01-02')"
)
const [alice, charlie] = [await signUp(api, 'Alice'), await signUp(api, 'Charlie')]
await fillTables(alice)
await fillTables(charlie)

const tables = await stores.db.query<{ name: string }>(`
  select c.relname as name
  from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'organization_id' and not a.attisdropped
  where n.nspname = 'public' and c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition
  order by c.relname`)
t.ok(tables.length > 10)

/** How many rows of each organization there are, as `reader` sees them. */
function countsOf(rows: ReadonlyArray<{ organization_id: string }>): Record<string, number> {
  const counts: Record<string, number> = { alice: 0, charlie: 0, others: 0 }
  for (const { organization_id: id } of rows) {
    const whose = id === alice.organizationId ? 'alice' : id === charlie.organizationId ? 'charlie' : 'others'
    counts[whose] = (counts[whose] ?? 0) + 1
  }
  return counts
}

for (const { name } of tables) {
  const everything = `select * from ${name}`
  t.test(`${everything} shows an organization its own rows and nobody its others`, async (t) => {
    const all = countsOf(await stores.db.query(everything))
    t.ok(all.alice && all.charlie, `both have a row in ${name}: fill new tables above`)
    for (const [who, person] of Object.entries({ alice, charlie })) {
      const seen = await db.tenant(person.organizationId, (tx) => tx.query<{ organization_id: string }>(everything))
      t.same(countsOf(seen), { alice: 0, charlie: 0, others: 0, [who]: all[who] })
    }
    t.same(await db.transaction((tx) => tx.query(everything)), [], 'whoever names no organization sees nothing')
    t.same(await db.tenant(uuidv7(), (tx) => tx.query(everything)), [], 'nor who names one that is not there')
  })

  t.test(`an update and a delete of all ${name} touch an organization's own rows only`, async (t) => {
    const undone = new Error('rolled back')
    for (const statement of [
      `update ${name} set organization_id = organization_id returning organization_id`,
      `delete from ${name} returning organization_id`
    ]) {
      let touched: Array<{ organization_id: string }> = []
      await db
        .tenant(alice.organizationId, async (tx) => {
          touched = await tx.query(statement)
          throw undone
        })
        .catch((error) => {
          // Not permitted at all (42501) is as good.
          if (error !== undone && error.code !== '42501') throw error
        })
      t.match(countsOf(touched), { charlie: 0, others: 0 }, statement)
    }
  })
}
