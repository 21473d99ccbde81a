import { t } from 'tap'
import { join, PASSWORD, signUp } from '../support/cast.ts'
import { withoutChromium } from '../support/chromium.ts'
import { siteFor, type Visitor } from '../support/site.ts'
import { bind, inDirectory, inWorkspace, ssoApiFor } from '../support/sso.ts'

const options = { skip: withoutChromium }
const TENANT = '11111111-1111-4111-8111-111111111111'
let ahead = 0
const open = siteFor(t, { clock: () => Date.now() + ahead, signInPoints: { account: 100, address: 1000 } }, ssoApiFor)
t.afterEach(() => {
  ahead = 0
})

async function signOut({ page }: Visitor, name: string): Promise<void> {
  await page.getByRole('button', { name: `${name}: account` }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.waitForURL('**/login')
}

t.test(
  'somebody of a bound tenant joins by the button, and comes to the page that was asked for',
  options,
  async (t) => {
    const { api, visit } = await open()
    const owner = await signUp(api, 'Paul')
    await bind(api, owner, { provider: 'entra', tenant: TENANT, domain: 'example.org' })
    api.entra.person = inDirectory(TENANT, 'Quinn', { email: 'quinn@example.org' })
    const { page, ...quinn } = await visit()
    await quinn.open('/agents')
    await page.getByRole('link', { name: 'Sign in with Microsoft' }).click()
    await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor()
    t.equal(new URL(page.url()).pathname, '/agents')
    await page.getByRole('banner').getByText("Paul's").waitFor()
    t.strictSame(quinn.complaints(), [])
  }
)

t.test('what goes wrong at the provider is told in words on the page for signing in', options, async (t) => {
  const { api, visit } = await open()
  api.entra.person = inDirectory('22222222-2222-4222-8222-222222222222', 'Eve')
  const { page, ...eve } = await visit()
  await eve.open('/login')
  await page.getByRole('link', { name: 'Sign in with Microsoft' }).click()
  await page.waitForURL('**/login?error=sso_not_connected')
  t.match(await page.getByRole('alert').innerText(), /no organization here lets that identity in/i)
  t.strictSame(eve.complaints(), [])
})

t.test('an owner links an identity and requires it; a member’s password connects theirs once', options, async (t) => {
  const { api, visit } = await open()
  const alice = await signUp(api, 'Alice')
  const bob = await join(api, alice.jwt, 'Bob')
  await bind(api, alice, { provider: 'google', domain: 'example.com' })
  api.google.person = inWorkspace('Alice')
  const owner = await visit()
  await owner.signIn(alice.email)
  await owner.open('/settings?section=account')
  await owner.page.getByRole('link', { name: 'Link Google' }).click()
  await owner.page.getByRole('listitem').filter({ hasText: alice.email }).getByText('Google').waitFor()
  await signOut(owner, 'Alice')
  await owner.page.getByRole('link', { name: 'Sign in with Google' }).click()
  await owner.page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor()
  await owner.open('/settings?section=sso')
  await owner.page.getByLabel('Require single sign-on').click({ force: true })
  await owner.page.getByRole('switch', { name: 'Require single sign-on', checked: true }).waitFor()
  t.strictSame(owner.complaints(), [])

  const { page, ...member } = await visit()
  await member.open('/login?next=%2Fagents')
  const password = page.getByRole('textbox', { name: 'Password' })
  await page.getByLabel('E-mail').fill(bob.email)
  await password.fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  t.match(await page.getByRole('alert').innerText(), /e-mail.*password/i)
  t.strictSame(member.complaints(), ['401 POST /v1/auth/login'])

  api.google.person = inWorkspace('Bob')
  await page.getByRole('link', { name: 'Sign in with Google' }).click()
  const asked = 'An account with this e-mail exists. Enter its password once to connect it with Google.'
  await page.getByText(asked).waitFor()
  t.strictSame(await member.barriers(), [])
  await page.getByLabel('E-mail').fill(bob.email)
  await password.fill('some other words here')
  await page.getByRole('button', { name: 'Connect with Google' }).click()
  await page.getByText('E-mail or password is wrong').waitFor()
  await password.fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor()
  await page.getByRole('banner').getByText("Alice's").waitFor()
  t.strictSame(member.complaints(), ['401 POST /v1/auth/login'])
  await signOut({ page, ...member }, 'Bob')
  await page.getByRole('link', { name: 'Sign in with Google' }).click()
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor()
  t.strictSame(member.complaints(), [], 'from then on the identity is enough')
})

t.test('who waits too long with the password is told so, and begins again', options, async (t) => {
  const { api, visit } = await open()
  const { email } = await signUp(api, 'Charlie')
  api.google.person = inWorkspace('Charlie')
  const { page, ...visitor } = await visit()
  await visitor.open('/login')
  await page.getByRole('link', { name: 'Sign in with Google' }).click()
  await page.getByLabel('E-mail').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
  ahead = 10 * 60_000
  await page.getByRole('button', { name: 'Connect with Google' }).click()
  await page.getByText('took too long').waitFor()
  t.strictSame(visitor.complaints(), ['400 POST /v1/auth/login'])
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor()
  await signOut({ page, ...visitor }, 'Charlie')
  await page.getByRole('link', { name: 'Sign in with Google' }).click()
  await page.getByLabel('E-mail').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Connect with Google' }).click()
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor()
  t.strictSame(visitor.complaints(), [])
})
