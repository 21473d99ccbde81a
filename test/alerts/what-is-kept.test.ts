import { test } from 'tap'
import { openDeliveries } from '../support/alert-log.ts'
import { apiFor } from '../support/api.ts'
import { createCast } from '../support/cast.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { waitFor } from '../support/wait-for.ts'
import { receiverFor } from '../support/webhook-receiver.ts'

test('what was told, and how it went, is forgotten after 30 days; what is not over is not', async (t) => {
  const stores = await openStores(t)
  const { db } = stores
  const api = await apiFor(t, stores)
  const { alice, monitor, pushMonitor } = await createCast(api)
  const channel = await openDeliveries(api, alice.jwt).createChannel({ url: (await receiverFor(t)).url })
  const tell = (monitorId: string, days: number, endedDaysAgo: number | null) =>
    db.query(
      `with told as (
         insert into alert_outbox (id, organization_id, event, opens, monitor_key, from_state, to_state, at, reason, status,
           due_at, ended_at, created_at)
         select gen_random_uuid(), organization_id, 'down', true, key, 'up', 'down', t, 'reported', 'told', t,
           now() - $3 * interval '1 day', t
         from monitors, (select now() - $2 * interval '1 day' as t) made where id = $1
         returning id, organization_id, created_at)
       insert into alert_deliveries (id, organization_id, channel_id, outbox_id, type, body, status, next_at, created_at)
       select gen_random_uuid(), organization_id, $4, id, 'monitor.state_changed', '{}', 'delivered', created_at, created_at
       from told`,
      [monitorId, days, endedDaysAgo, channel.id]
    )
  await tell(monitor.id, 40, 39)
  await tell(monitor.id, 29, 28)
  await tell(pushMonitor.id, 50, null)
  await db.query("update monitor_states set state = 'down'")
  const ages = async (table: string) =>
    (
      await db.query<{ days: number }>(
        `select extract(day from now() - created_at)::int as days from ${table} order by 1`
      )
    ).map(({ days }) => days)
  t.same(await ages('alert_deliveries'), [29, 40, 50])
  await workerFor(t, stores)
  await waitFor(async () => (await ages('alert_outbox')).length < 3)
  t.same(await ages('alert_outbox'), [29, 50])
  t.same(await ages('alert_deliveries'), [29])
})
