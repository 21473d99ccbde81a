import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { createCast, createMonitor } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { expectProblem, faultsOf } from '../support/problems.ts'

const stores = await openStores(t)
const api = await apiFor(t, stores)
const { bob, charlie } = await createCast(api)
const make = (name: string, parentIds: string[] = []) =>
  createMonitor(api, bob.jwt, { name, kind: 'heartbeat', parentIds })
const patch = (id: string, parentIds: string[]) =>
  api.call('PATCH', `/v1/monitors/${id}`, { as: bob.jwt, json: { parentIds } })

t.test('a monitor depends on others, from its creation or later', async (t) => {
  const [router, server] = [await make('Router'), await make('Server')]
  const site = await make('Site', [router.id])
  t.same(site.parentIds, [router.id])
  t.match(await patch(site.id, [server.id, server.id]), { status: 200, body: { parentIds: [server.id] } })
  t.match(await patch(site.id, []), { status: 200, body: { parentIds: [] } })
})

t.test('nothing depends on itself, not even through others', async (t) => {
  const router = await make('Router')
  const server = await make('Server', [router.id])
  const site = await make('Site', [server.id])
  for (const parent of [router, server, site]) {
    expectProblem(t, await patch(router.id, [parent.id]), 422, 'cyclic_dependency')
  }
  const now = await api.call('GET', `/v1/monitors/${router.id}`, { as: bob.jwt })
  t.match(now.body, { parentIds: [] })
})

t.test('two changes at once do not make a circle together', async (t) => {
  const [one, other] = [await make('One'), await make('Other')]
  const answers = await Promise.all([patch(one.id, [other.id]), patch(other.id, [one.id])])
  t.same(answers.map(({ status }) => status).sort(), [200, 422])
})

t.test('the explanation says that nobody is told of what depends on one that is down', async (t) => {
  const router = await make('Router')
  const site = await make('Site', [router.id])
  const sentence = async () =>
    ((await api.call('GET', `/v1/monitors/${site.id}/explain`, { as: bob.jwt })).body as { sentence: string }).sentence
  const down = ({ id }: { id: string }) =>
    stores.db.query(
      "update monitor_states set state = 'down', state_reason = 'missed' from monitors where key = monitor_key and id = $1",
      [id]
    )
  await down(site)
  t.notMatch(await sentence(), /Nobody is told/)
  await down(router)
  t.match(await sentence(), /Nobody is told of it while one that it depends on is down\./)
})

t.test("a stranger's monitor is no parent", async (t) => {
  const theirs = await createMonitor(api, charlie.jwt, { name: 'Theirs', kind: 'heartbeat' })
  const ours = await make('Ours')
  const body = expectProblem(t, await patch(ours.id, [theirs.id]), 422, 'validation_failed')
  t.same(faultsOf(body), ['/parentIds/0 monitor_not_allowed'])
})
