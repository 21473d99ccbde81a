import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { createAgent, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { doneByOperator, operatorOf } from '../support/operator.ts'
import { waitFor } from '../support/wait-for.ts'

const stores = await openStores(t)
const api = await apiFor(t, stores)
const admin = operatorOf(stores)

t.test('a key is found by its ends and revoked everywhere', async (t) => {
  const grace = await signUp(api, 'Grace')
  const { apiKey } = await createAgent(api, grace.jwt, { name: 'Rack 7', kind: 'service', monitorIds: [] })
  t.equal((await api.call('GET', '/api/heartbeats', { as: apiKey })).status, 403)
  const listed = await admin('keys', 'list', '--organization', grace.organizationId)
  t.match(listed.out, /^\S{36} {2}pgs_\S+…\S{4} {2}active {2}made 20\S+Z {2}used \S+ {2}Rack 7\n1 key\.\n$/)
  t.notMatch(listed.out, apiKey)
  const keyId = listed.out.slice(0, 36)
  t.match(await admin('keys', 'revoke', keyId), { code: 0, out: /^The key pgs_\S+ of Rack 7 is revoked\.\n$/ })
  await waitFor(async () => (await api.call('GET', '/api/heartbeats', { as: apiKey })).status === 401)
  t.match(await admin('keys', 'revoke', keyId), { code: 0, out: /revoked already\.\n$/ })
  t.match(await doneByOperator(stores, grace.organizationId), [
    { action: 'key.revoked', details: { agentName: 'Rack 7' } }
  ])
})

t.test('signing keys are rotated in order, or at once', async (t) => {
  const heidi = await signUp(api, 'Heidi')
  t.match(await admin('signing-keys', 'rotate'), { code: 0, out: /^The next key is published/ })
  t.match((await admin('signing-keys', 'list')).out, /^\S+ +active +since \S+\n\S+ +next +since \S+\n$/)
  t.match(await admin('signing-keys', 'rotate', '--now'), { code: 0, out: /^The key \S+ signs now/ })
  t.match((await admin('signing-keys', 'list')).out, /^\S+ +active +since \S+\n$/)
  t.match(await doneByOperator(stores, heidi.organizationId), [
    { action: 'signing_key.rotated', details: { now: true } },
    { action: 'signing_key.rotated', details: { now: false } }
  ])
})
