import { t } from 'tap'
import { signUp } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { bind, createBrowser, ssoApiFor } from '../support/sso.ts'

const TENANT = '11111111-1111-4111-8111-111111111111'
const OID = '22222222-2222-4222-8222-222222222222'

const stores = await openStores(t)
const api = await ssoApiFor(t, stores)
const alice = await signUp(api, 'Alice')
await bind(api, alice, { provider: 'entra', tenant: TENANT, domain: 'example.com' })
await bind(api, alice, { provider: 'google', domain: 'example.com' })

const BOB = {
  sub: 'pairwise-bob',
  directory: TENANT,
  claims: { tid: TENANT, oid: OID, name: 'Bob', email: 'Bob@example.com' }
}
const CAROL = {
  sub: '1234567890',
  claims: { hd: 'example.com', name: 'Carol', email: 'carol@example.com', email_verified: true }
}

for (const [provider, person] of [
  ['entra', BOB],
  ['google', CAROL]
] as const) {
  t.test(`somebody of the bound tenant joins by ${provider}, and is the same person the next time`, async (t) => {
    api[provider].person = person
    const browser = createBrowser(api)
    t.equal(await browser.signIn(`/v1/auth/sso/${provider}?returnTo=/monitors%3Fa%3Db`), '/monitors?a=b')
    const first = await browser.whoAmI()
    t.match(first, { user: { name: person.claims.name }, organization: { id: alice.organizationId }, role: 'member' })
    t.same([...browser.cookies.keys()], ['__Host-session'])
    const again = createBrowser(api)
    t.equal(await again.signIn(`/v1/auth/sso/${provider}`), '/')
    t.equal((await again.whoAmI())?.user.id, first?.user.id)
  })
}
