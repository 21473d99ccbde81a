import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { createCast } from '../support/cast.ts'
import { openStores, workerFor } from '../support/ingest.ts'
import { watchLive } from '../support/live-watch.ts'
import { waitFor } from '../support/wait-for.ts'

let moved = 0
const stores = await openStores(t)
const api = await apiFor(t, stores, { monotonic: () => performance.now() + moved })
const { alice, bob } = await createCast(api)
await workerFor(t, stores)
const comments = (text: string) => text.match(/^: still here$/gm)?.length ?? 0

t.test('a comment comes every 15 seconds, so that no proxy takes the stream for dead', async (t) => {
  const stream = await watchLive(t, api, bob.jwt)
  await stream.come('resync')
  t.equal(comments(stream.text()), 0)
  for (const count of [1, 2]) {
    moved += 15_000
    await waitFor(() => comments(stream.text()) === count)
  }
})

t.test('who was removed from the team sees nothing more after 30 seconds at most', async (t) => {
  const [theirs, ours] = [await watchLive(t, api, bob.jwt), await watchLive(t, api, alice.jwt)]
  const { status } = await api.call('DELETE', `/v1/team/members/${bob.id}`, { as: alice.jwt })
  t.equal(status, 204)
  moved += 20_000
  await waitFor(() => comments(theirs.text()) === 1)
  t.notOk(theirs.ended())
  moved += 10_000
  await waitFor(() => theirs.ended())
  moved += 15_000
  await waitFor(() => comments(ours.text()) === 2)
  t.notOk(ours.ended())
})
