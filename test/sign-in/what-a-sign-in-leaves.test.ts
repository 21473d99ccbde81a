import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { auditOf } from '../support/audit-trail.ts'
import { PASSWORD, signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { waitFor } from '../support/wait-for.ts'

/** Of `PASSWORD`, at a lower cost than ours is now. */
const OLD_HASH = '$argon2id$v=19$m=8192,t=1,p=1$PHbiCRtU9iAZ7af++kpJrw$+YlABV4GgSDYt5zBFBtT2gEyOGl/6GeE7vN45v/Fa5E'

const stores = await openStores(t)
const api = await apiFor(t, stores, { signInPoints: { account: 100, address: 1000 } })
const logIn = (email: string, password: string) => api.call('POST', '/v1/auth/login', { json: { email, password } })

async function storedHash(userId: string): Promise<string> {
  const [row] = await stores.db.query<{ password_hash: string }>('select password_hash from users where id = $1', [
    userId
  ])
  return row?.password_hash ?? ''
}

t.test('good and failed sign-ins are in the trail of the organization, without the password', async (t) => {
  const alice = await signUp(api, 'Alice')
  await logIn('nobody@example.com', 'wrong')
  await logIn(alice.email, 'not the right one')
  await logIn(alice.email, PASSWORD)
  const failed = await auditOf(stores, 'session.failed')
  t.match(failed, [
    {
      organization_id: alice.organizationId,
      actor_id: alice.id,
      details: { method: 'password', reason: 'wrong_password' }
    }
  ])
  t.equal(failed.length, 1)
  t.match(await auditOf(stores, 'session.started', 2), [{ actor_id: alice.id }, { actor_id: alice.id }])
  const { body } = await api.call('GET', '/v1/audit', { as: alice.jwt })
  t.notMatch(JSON.stringify(body), /not the right one|nobody@example/)
})

t.test('a right password that lets into no organization is told in the trail as well', async (t) => {
  const dora = await signUp(api, 'Dora')
  await stores.db.query('update organizations set sso_required = true where id = $1', [dora.organizationId])
  const answer = await logIn(dora.email, PASSWORD)
  t.match(answer.body, { code: 'invalid_credentials' })
  const trail = await auditOf(stores, 'session.failed', 2)
  t.match(trail.at(-1), { actor_id: dora.id, details: { reason: 'no_organization_for_password' } })
})

t.test('a hash of an older cost is made anew at the next sign-in, and only then', async (t) => {
  const bob = await signUp(api, 'Bob')
  await stores.db.query('update users set password_hash = $2 where id = $1', [bob.id, OLD_HASH])
  t.equal((await logIn(bob.email, 'wrong')).status, 401)
  t.equal(await storedHash(bob.id), OLD_HASH)
  t.equal((await logIn(bob.email, PASSWORD)).status, 200)
  await waitFor(async () => (await storedHash(bob.id)) !== OLD_HASH)
  const now = await storedHash(bob.id)
  t.match(now, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  t.equal((await logIn(bob.email, PASSWORD)).status, 200)
  t.equal(await storedHash(bob.id), now)
})
