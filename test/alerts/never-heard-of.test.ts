import { t } from 'tap'
import { deleteOldAlerts } from '../../shared/store/outbox-queue.ts'
import { remindOfSilent } from '../../shared/store/reminders.ts'
import { openDeliveries } from '../support/alert-log.ts'
import { apiFor } from '../support/api.ts'
import { createMonitor, signUp } from '../support/cast.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { waitFor } from '../support/wait-for.ts'
import { receiverFor } from '../support/webhook-receiver.ts'

const stores = await openStores(t)
const { db } = stores
const api = await apiFor(t, stores)
const alice = await signUp(api, 'Alice')
const add = (name: string, kind = 'push') => createMonitor(api, alice.jwt, { name, kind })
const days = (count: number) => new Date(Date.now() + count * 86_400_000)
const post = (path: string, json: object = {}) => api.call('POST', path, { as: alice.jwt, json })

/** Of which monitors the outbox tells that they wait. */
const reminded = async () => {
  const rows = await db.query<{ name: string }>(
    "select name from alert_outbox join monitors m on m.key = monitor_key where event = 'pending' order by name"
  )
  return rows.map(({ name }) => name)
}

t.test('a monitor that nothing was heard of for three days is told of once, whoever looks', async (t) => {
  await add('Waiting')
  await remindOfSilent(db, days(2.99))
  t.same(await reminded(), [])
  await Promise.all([1, 2, 3].map(() => remindOfSilent(db, days(3.01))))
  await remindOfSilent(db, days(60))
  t.same(await reminded(), ['Waiting'])
})

t.test('not while it is paused or under maintenance, and not of one that gave a sign of life', async (t) => {
  const [paused, kept, heard, begun] = [await add('Paused'), await add('Kept'), await add('Heard'), await add('Begun')]
  await post(`/v1/monitors/${paused.id}/pause`)
  const window = { title: 'Move', from: days(-0.01).toISOString(), to: days(5).toISOString(), monitorIds: [kept.id] }
  await post('/v1/maintenance', window)
  await db.query(
    'update monitor_states set last_heartbeat_at = now() from monitors where key = monitor_key and id = $1',
    [heard.id]
  )
  await db.query('update monitor_states set last_record_at = now() from monitors where key = monitor_key and id = $1', [
    begun.id
  ])
  await remindOfSilent(db, days(4))
  t.same(await reminded(), ['Waiting'])
  await post(`/v1/monitors/${paused.id}/resume`)
  await remindOfSilent(db, days(5.5))
  t.same(await reminded(), ['Kept', 'Paused', 'Waiting'])
})

t.test('a webhook hears of it, and the row that says so stays', async (t) => {
  const receiver = await receiverFor(t)
  const channel = await openDeliveries(api, alice.jwt).createChannel({ url: receiver.url })
  t.ok(channel.events.includes('pending'))
  await db.query('delete from alert_outbox')
  const since = days(-4)
  await db.query(
    "update monitor_states s set state_since = $1 from monitors where key = s.monitor_key and name = 'Waiting'",
    [since]
  )
  await workerFor(t, stores)
  await waitFor(() => receiver.received.length > 0)
  t.match(receiver.received[0]?.body, {
    type: 'monitor.still_pending',
    monitor: { name: 'Waiting', kind: 'push', state: 'pending' },
    since: since.toISOString()
  })
  t.equal(await deleteOldAlerts(db, days(40), 10), 0)
  t.same(await reminded(), ['Waiting'])
})
