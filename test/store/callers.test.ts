import { randomBytes } from 'node:crypto'
import { test } from 'tap'
import { connectDb } from '../../shared/db.ts'
import { createLog } from '../../shared/log.ts'
import { createSecrets } from '../../shared/secrets.ts'
import { findApiKey, findPushUrl } from '../../shared/store/callers.ts'
import { cloneDatabase } from '../support/database.ts'
import { createTenant } from '../support/tenant.ts'

const log = createLog('test', 'fatal')

/** Makes the function anew with one column more, as a later migration would. */
function widened(name: string): string {
  return `do $$
    declare
      definition text := pg_get_functiondef('${name}(bytea)'::regprocedure);
    begin
      definition := replace(definition, ' suspended boolean', ' suspended boolean, later integer');
      definition := replace(definition, 'o.suspended_at is not null', 'o.suspended_at is not null, 1');
      drop function ${name}(bytea);
      execute definition;
    end
  $$`
}

test('a look-up goes on where a newer migration gives its function another column', async (t) => {
  const database = await cloneDatabase(t)
  const secrets = createSecrets(randomBytes(32).toString('base64'))
  // One connection: it keeps the plan from before.
  const db = connectDb({ url: database.url, role: 'pulsegate_system', log, max: 1 })
  t.teardown(() => db.stop())
  const tenant = await createTenant(db, secrets)
  const monitorId = await tenant.addMonitor({ kind: 'push' })
  const agent = await tenant.addAgent([monitorId])
  const token = await tenant.addPushUrl(monitorId)
  const found = async () => [
    await findApiKey(db, secrets.digest(agent.apiKey)),
    await findPushUrl(db, secrets.digest(token))
  ]
  const before = await found()
  t.match(before, [{ agent_id: agent.id, monitor_ids: [monitorId] }, { monitor_id: monitorId }])
  for (const name of ['find_api_key', 'find_push_url']) await database.query(widened(name))
  t.match(await database.query('select later from find_push_url($1)', [secrets.digest(token)]), [{ later: 1 }])
  t.same(await found(), before)
})
