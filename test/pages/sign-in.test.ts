import { t } from 'tap'
import { invite, PASSWORD, signUp } from '../support/cast.ts'
import { withoutChromium } from '../support/chromium.ts'
import { mailboxFor } from '../support/mailbox.ts'
import { siteFor } from '../support/site.ts'

const options = { skip: withoutChromium }
const mailbox = await mailboxFor(t)
const open = siteFor(t, { smtpUrl: mailbox.url, signInPoints: { account: 100, address: 1000 } })

t.test('a wrong password is told in words, and a good one opens the page that was asked for', options, async (t) => {
  const { api, visit } = await open()
  const { email } = await signUp(api, 'Alice')
  const { page, ...alice } = await visit()
  await alice.open('/agents')
  await page.waitForURL('**/login?next=%2Fagents')
  t.strictSame(alice.complaints(), [], 'nothing is asked that is refused before somebody signs in')
  await page.getByLabel('E-mail').fill(email)
  const password = page.getByRole('textbox', { name: 'Password' })
  await password.fill('some other words here')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  t.match(await page.getByRole('alert').innerText(), /e-mail.*password/i)
  t.equal(await page.getByLabel('E-mail').inputValue(), email, 'what was typed stays')
  t.strictSame(alice.complaints(), ['401 POST /v1/auth/login'])
  await password.fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor()
  t.equal(new URL(page.url()).pathname, '/agents')

  await alice.open('/login')
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor()
  t.strictSame(alice.complaints(), [])
})

t.test('the sign-in page asks for at most 250 kB of script', options, async (t) => {
  const { visit } = await open()
  const { page } = await visit()
  await page.goto('/login', { waitUntil: 'networkidle' })
  const bytes = await page.evaluate<number>(`performance.getEntriesByType('resource')
    .filter(({ name }) => name.endsWith('.js')).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`)
  t.ok(bytes > 10_000 && bytes <= 250_000, `${bytes} bytes, compressed`)
})

t.test('nobody is sent to another site after signing in', options, async (t) => {
  const { api, visit } = await open()
  const { email } = await signUp(api, 'Eve')
  const { page, ...eve } = await visit()
  for (const next of ['//example.com/', '/\\example.com', 'https://example.com/', 'javascript:alert(1)']) {
    await page.context().clearCookies()
    await eve.open(`/login?next=${encodeURIComponent(next)}`)
    await page.getByLabel('E-mail').fill(email)
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor()
    t.equal(new URL(page.url()).origin, api.url, next)
  }
  t.strictSame(eve.complaints(), [])
})

t.test(
  'who signs out in one tab is signed out in the other, and who signs in is signed in there',
  options,
  async (t) => {
    const { api, visit } = await open()
    const { email } = await signUp(api, 'Bob')
    const { page, ...bob } = await visit()
    await bob.signIn(email)
    const other = await bob.newTab()
    await other.goto('/settings?section=account')
    await other.getByRole('heading', { name: 'Sessions' }).waitFor()
    await page.getByRole('button', { name: 'Bob: account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.waitForURL('**/login')
    await other.waitForURL('**/login?next=*')
    await page.getByLabel('E-mail').fill(email)
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor()
    await other.getByRole('heading', { name: 'Sessions' }).waitFor()
    t.match(other.url(), /\/settings\?section=account$/, 'on the page that was left')
    t.strictSame(bob.complaints(), [])
  }
)

t.test('a session that was ended elsewhere leads to signing in, and back to the same page', options, async (t) => {
  const { api, visit } = await open()
  const { email } = await signUp(api, 'Charlie')
  const phone = await visit()
  await phone.signIn(email)
  await phone.open('/settings?section=account')
  const { page, ...desk } = await visit()
  await desk.signIn(email)
  await desk.open('/settings?section=account')
  const end = page
    .getByRole('listitem')
    .filter({ hasText: 'Mozilla' })
    .getByRole('button', { name: 'End', exact: true })
  await end.click()
  await end.waitFor({ state: 'detached' })
  t.strictSame(desk.complaints(), [])
  await phone.page.getByRole('link', { name: 'Monitors', exact: true }).click()
  await phone.page.waitForURL('**/login?next=%2F')
  t.strictSame(new Set(phone.complaints()), new Set(['401 GET /v1/monitors']))
})

t.test('a forgotten password is replaced by the link in a mail', options, async (t) => {
  const { api, visit } = await open()
  const { email } = await signUp(api, 'Dora')
  const { page, ...dora } = await visit()
  await dora.open('/login')
  await page.getByRole('link', { name: 'Forgot the password?' }).click()
  await page.getByRole('heading', { name: 'Forgotten password' }).waitFor()
  await page.getByLabel('E-mail').fill(email)
  await page.getByRole('button', { name: 'Send me a link' }).click()
  await page.getByText('a mail with a link is on its way').waitFor()
  const { text } = await mailbox.mailTo(email)
  const link = new URL(/https:\S+/.exec(text)?.[0] ?? '')
  await dora.open(link.pathname + link.hash)
  const password = page.getByRole('textbox', { name: 'Password' })
  await password.fill('short')
  await page.getByRole('button', { name: 'Set the password' }).click()
  await page.getByText('at least 15 characters', { exact: false }).first().waitFor()
  t.strictSame(dora.complaints(), ['422 POST /v1/auth/password/reset'])
  await password.fill('ten lamps, and a garden')
  await page.getByRole('button', { name: 'Set the password' }).click()
  await page.getByText('The password is set').waitFor()
  await dora.signIn(email, 'ten lamps, and a garden')
  await dora.open(link.pathname + link.hash)
  await page.getByRole('textbox', { name: 'Password' }).fill('another ten lamps')
  await page.getByRole('button', { name: 'Set the password' }).click()
  await page.getByRole('alert').waitFor()
  t.match(dora.complaints().join(), /^4\d\d POST \/v1\/auth\/password\/reset$/, 'it works once')
})

t.test('who is invited joins by the link, with a new account', options, async (t) => {
  const { api, visit } = await open()
  const { jwt } = await signUp(api, 'Frank')
  const token = await invite(api, jwt, 'grace@example.com')
    .catch(() => '')
    .then(async (shown) => {
      if (shown !== '') return shown
      const { text } = await mailbox.mailTo('grace@example.com')
      return /\/invitations\/(\S+)/.exec(text)?.[1] ?? ''
    })
  const { page, ...grace } = await visit()
  await grace.open(`/invitations/${token}`)
  await page.getByText("Frank's").waitFor()
  await page.getByLabel('Your name').fill('Grace')
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Join' }).click()
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor()
  await page.getByRole('banner').getByText("Frank's").waitFor()
  t.strictSame(grace.complaints(), [])
  await grace.open(`/invitations/${token}`)
  await page.getByRole('alert').waitFor()
  t.match(grace.complaints().join(), /^4\d\d GET \/v1\/invitations\//, 'it works once')
})
