import { type Test, t } from 'tap'
import { signUp } from '../support/cast.ts'
import type { Somebody } from '../support/identity-provider.ts'
import { openStores } from '../support/ingest.ts'
import {
  type Browser,
  bind,
  createBrowser,
  inDirectory,
  inWorkspace,
  ORIGIN,
  pathOf,
  ssoApiFor
} from '../support/sso.ts'

const TENANT = '11111111-1111-4111-8111-111111111111'
const STRANGE = '22222222-2222-4222-8222-222222222222'
const PERSONAL = '9188040d-6c67-4c5b-b112-36a304b66dad'

const stores = await openStores(t)
const api = await ssoApiFor(t, stores)
const alice = await signUp(api, 'Alice')
await bind(api, alice, { provider: 'entra', tenant: TENANT, domain: 'example.com' })
await bind(api, alice, { provider: 'google', domain: 'example.com' })
const named = `organizationId=${alice.organizationId}`

async function countUsers(): Promise<number> {
  const [row] = await stores.db.query<{ count: number }>('select count(*)::int as count from users')
  return row?.count ?? 0
}

/** Refused with this code: no session, no account, no word of the provider. */
async function expectRefused(t: Test, browser: Browser, path: string, code: string): Promise<void> {
  t.equal(path, `/login?error=${code}`)
  t.equal(browser.cookies.size, 0)
  t.equal(await browser.whoAmI(), null)
}

type Case = [name: string, path: string, person: Somebody, code: string]
const identities: Case[] = [
  ['a token of another tenant, asked for at ours', `entra?${named}`, inDirectory(STRANGE, 'Eve'), 'sso_wrong_tenant'],
  ['a tenant that nobody is bound to', 'entra', inDirectory(STRANGE, 'Eve'), 'sso_not_connected'],
  [
    "our tenant's id in the token of another",
    'entra',
    { ...inDirectory(TENANT, 'Eve'), directory: STRANGE },
    'sso_wrong_tenant'
  ],
  ['no tenant at all', 'entra', inDirectory(TENANT, 'Eve', { tid: undefined }), 'sso_wrong_tenant'],
  ['a tenant that is no id', 'entra', inDirectory('common', 'Eve'), 'sso_failed'],
  ['no oid', 'entra', inDirectory(TENANT, 'Eve', { oid: undefined }), 'sso_failed'],
  ['a personal account at Microsoft', 'entra', inDirectory(PERSONAL, 'Eve'), 'sso_personal_account'],
  ['a personal account at Google', 'google', inWorkspace('Eve', { hd: undefined }), 'sso_personal_account'],
  [
    'a Workspace that nobody is bound to',
    'google',
    inWorkspace('Eve', { hd: 'evil.example.net' }),
    'sso_not_connected'
  ],
  [
    'another Workspace than the named',
    `google?${named}`,
    inWorkspace('Eve', { hd: 'a.example.net' }),
    'sso_wrong_tenant'
  ],
  ['a Workspace below ours', 'google', inWorkspace('Eve', { hd: 'evil.example.com' }), 'sso_not_connected'],
  [
    'an address that Google did not verify',
    'google',
    inWorkspace('Eve', { email_verified: false }),
    'sso_email_unverified'
  ],
  [
    'an address that Google says nothing of',
    'google',
    inWorkspace('Eve', { email_verified: null }),
    'sso_email_unverified'
  ],
  ['a verified word', 'google', inWorkspace('Eve', { email_verified: 'true' }), 'sso_email_unverified'],
  [
    'an address outside the proven domain',
    'entra',
    inDirectory(TENANT, 'Eve', { email: 'eve@evil.example' }),
    'sso_email_unverified'
  ],
  [
    'an address that ends like it',
    'entra',
    inDirectory(TENANT, 'Eve', { email: 'eve@notexample.com' }),
    'sso_email_unverified'
  ],
  ['an address that Entra disowns', 'entra', inDirectory(TENANT, 'Eve', { xms_edov: false }), 'sso_email_unverified'],
  ['no address', 'entra', inDirectory(TENANT, 'Eve', { email: undefined }), 'sso_email_unverified'],
  ['two addresses in one', 'entra', inDirectory(TENANT, 'Eve', { email: 'a@b@example.com' }), 'sso_email_unverified']
]
for (const [name, path, person, code] of identities) {
  t.test(`${name} is refused`, async (t) => {
    const before = await countUsers()
    api[path.startsWith('entra') ? 'entra' : 'google'].person = person
    const browser = createBrowser(api)
    await expectRefused(t, browser, await browser.signIn(`/v1/auth/sso/${path}`), code)
    t.equal(await countUsers(), before)
  })
}

const taken: Array<[name: string, provider: 'entra' | 'google', person: Somebody]> = [
  ["an existing user's address at Entra", 'entra', inDirectory(TENANT, 'Alice')],
  ["an existing user's verified address at Entra", 'entra', inDirectory(TENANT, 'ALICE', { xms_edov: true })],
  ["an existing user's address at Google", 'google', inWorkspace('Alice')]
]
for (const [name, provider, person] of taken) {
  t.test(`${name} opens nothing`, async (t) => {
    api[provider].person = person
    const browser = createBrowser(api)
    const end = await browser.signIn(`/v1/auth/sso/${provider}`)
    t.equal(end, `/login?error=sign_in_first&provider=${provider}&next=%2F`)
    t.same([...browser.cookies.keys()], ['__Host-sso-pending'])
    t.equal(await browser.whoAmI(), null)
    const identities = await stores.db.query('select from identities where user_id = $1', [alice.id])
    t.equal(identities.length, 0)
  })
}

t.test('an answer of another tenant to a question of ours is refused', async (t) => {
  api.entra.person = inDirectory(STRANGE, 'Eve')
  api.entra.answersAs = STRANGE
  const browser = createBrowser(api)
  await expectRefused(t, browser, await browser.signIn(`/v1/auth/sso/entra?${named}`), 'sso_wrong_tenant')
  api.entra.answersAs = null
})

t.test('an organization that has not proven its domain gets nobody', async (t) => {
  const mallory = await signUp(api, 'Mallory')
  const tenant = '44444444-4444-4444-8444-444444444444'
  const json = { provider: 'entra', tenant, domain: 'example.org' }
  t.equal((await api.call('POST', '/v1/organization/sso', { as: mallory.jwt, json })).status, 201)
  for (const path of ['entra', `entra?organizationId=${mallory.organizationId}`]) {
    api.entra.person = inDirectory(tenant, 'Eve', { email: 'eve@example.org' })
    const browser = createBrowser(api)
    await expectRefused(t, browser, await browser.signIn(`/v1/auth/sso/${path}`), 'sso_not_connected')
  }
})

t.test("who binds a stranger's tenant to a domain of their own draws none of its people in", async (t) => {
  const mallory = await signUp(api, 'Trudy')
  await bind(api, mallory, { provider: 'entra', tenant: STRANGE, domain: 'evil.example.net' })
  for (const path of ['entra', `entra?organizationId=${mallory.organizationId}`]) {
    api.entra.person = inDirectory(STRANGE, 'Victim')
    const browser = createBrowser(api)
    await expectRefused(t, browser, await browser.signIn(`/v1/auth/sso/${path}`), 'sso_email_unverified')
  }
})

/** A browser that stands before the callback: the provider has just sent it back. */
async function comingBack(change: (url: URL) => void = () => undefined): Promise<{ browser: Browser; back: string }> {
  const browser = createBrowser(api)
  const started = await browser.open('/v1/auth/sso/google')
  const url = new URL(started.headers.get('location') ?? '')
  change(url)
  return { browser, back: pathOf(await browser.authenticate(url.href)) }
}

async function finish(browser: Browser, back: string): Promise<string> {
  return pathOf((await browser.open(back)).headers.get('location') ?? '')
}

t.test('a callback works once', async (t) => {
  api.google.person = inWorkspace('Carol')
  const { browser, back } = await comingBack()
  const sso = browser.cookies.get('__Host-sso') ?? ''
  t.equal(await finish(browser, back), '/')
  const thief = createBrowser(api)
  thief.cookies.set('__Host-sso', sso)
  await expectRefused(t, thief, await finish(thief, back), 'sso_state_invalid')
})

t.test('a callback of another browser is refused, and is then worth nothing in its own', async (t) => {
  for (const isBusy of [false, true]) {
    const attacker = await comingBack()
    const victim = createBrowser(api)
    if (isBusy) await victim.open('/v1/auth/sso/google')
    await expectRefused(t, victim, await finish(victim, attacker.back), 'sso_state_invalid')
    await expectRefused(t, attacker.browser, await finish(attacker.browser, attacker.back), 'sso_state_invalid')
  }
})

t.test('an invented state, or none, is refused', async (t) => {
  for (const query of ['?code=x&state=invented', '?code=x', '', '?error=access_denied']) {
    const browser = createBrowser(api)
    await browser.open('/v1/auth/sso/google')
    await expectRefused(t, browser, await finish(browser, `/v1/auth/sso/google/callback${query}`), 'sso_state_invalid')
  }
})

t.test("one provider's state is refused in the callback of the other", async (t) => {
  const { browser, back } = await comingBack()
  await expectRefused(t, browser, await finish(browser, back.replace('/google/', '/entra/')), 'sso_state_invalid')
})

const forgeries: Array<[name: string, change: (url: URL) => void]> = [
  ['a forged nonce', (url) => url.searchParams.set('nonce', 'forged')],
  ['a forged PKCE challenge', (url) => url.searchParams.set('code_challenge', 'A'.repeat(43))]
]
for (const [name, change] of forgeries) {
  t.test(`${name} is refused`, async (t) => {
    const { browser, back } = await comingBack(change)
    await expectRefused(t, browser, await finish(browser, back), 'sso_failed')
  })
}

t.test("somebody else's code is refused, fresh or used", async (t) => {
  const used = await comingBack()
  t.equal(await finish(used.browser, used.back), '/')
  for (const { back: stolen } of [used, await comingBack()]) {
    const { browser, back } = await comingBack()
    const mixed = new URL(back, ORIGIN)
    mixed.searchParams.set('code', new URL(stolen, ORIGIN).searchParams.get('code') ?? '')
    await expectRefused(t, browser, await finish(browser, pathOf(mixed.href)), 'sso_failed')
  }
})

t.test('the issuer of an answer has to be the one that was asked', async (t) => {
  const { browser, back } = await comingBack()
  const mixed = new URL(back, ORIGIN)
  mixed.searchParams.set('iss', api.entra.client.issuer)
  await expectRefused(t, browser, await finish(browser, pathOf(mixed.href)), 'sso_failed')
})

t.test("the provider's words of an error are not passed on", async (t) => {
  for (const [error, code] of [
    ['access_denied', 'sso_denied'],
    ['server_error', 'sso_failed'],
    ['<script>', 'sso_failed']
  ]) {
    const { browser, back } = await comingBack()
    const url = new URL(back, ORIGIN)
    url.searchParams.delete('code')
    url.searchParams.set('error', error ?? '')
    url.searchParams.set('error_description', 'words')
    await expectRefused(t, browser, await finish(browser, pathOf(url.href)), code ?? '')
  }
})
