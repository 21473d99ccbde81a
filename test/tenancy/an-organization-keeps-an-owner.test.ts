import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { invite, join, type Person, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'

const stores = await openStores(t)
const signInPoints = { account: 1000, address: 1000 }
const api = await apiFor(t, stores, { signInPoints, rateLimitScale: 100 })

/** An organization with two owners. */
async function sceneOf(round: string) {
  const one = await signUp(api, `One${round}`)
  return { one, other: await join(api, one.jwt, `Other${round}`, 'owner') }
}

async function ownersOf(organizationId: string): Promise<number> {
  const rows = await stores.db.query("select 1 from memberships where organization_id = $1 and role = 'owner'", [
    organizationId
  ])
  return rows.length
}

const ways: Array<[name: string, act: (actor: Person, target: Person) => Promise<{ status: number }>]> = [
  ['leave', (actor) => api.call('POST', '/v1/organization/leave', { as: actor.jwt })],
  ['remove each other', (actor, target) => api.call('DELETE', `/v1/team/members/${target.id}`, { as: actor.jwt })],
  [
    'demote each other',
    (actor, target) => api.call('PATCH', `/v1/team/members/${target.id}`, { as: actor.jwt, json: { role: 'member' } })
  ],
  ['remove themselves', (actor) => api.call('DELETE', `/v1/team/members/${actor.id}`, { as: actor.jwt })]
]

for (const [place, [name, act]] of ways.entries()) {
  t.test(`of two owners who ${name} at the same moment one remains`, async (t) => {
    for (const round of [1, 2, 3, 4]) {
      const { one, other } = await sceneOf(`${place}x${round}`)
      const answers = await Promise.all([act(one, other), act(other, one)])
      const good = answers.filter(({ status }) => status < 300)
      t.equal(good.length, 1, answers.map(({ status }) => status).join(' '))
      t.equal(await ownersOf(one.organizationId), 1)
    }
  })
}

t.test('an admin who is removed while inviting leaves no invitation behind', async (t) => {
  const { one } = await sceneOf('last')
  for (const round of [1, 2, 3, 4]) {
    const admin = await join(api, one.jwt, `Admin${round}`, 'admin')
    await Promise.allSettled([
      invite(api, admin.jwt, `friend${round}@example.com`, 'admin'),
      api.call('DELETE', `/v1/team/members/${admin.id}`, { as: one.jwt })
    ])
    const left = await stores.db.query('select 1 from invitations where invited_by = $1 and accepted_at is null', [
      admin.id
    ])
    t.same(left, [])
  }
})
