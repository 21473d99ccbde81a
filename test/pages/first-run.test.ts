import { t } from 'tap'
import { PASSWORD } from '../support/cast.ts'
import { withoutChromium } from '../support/chromium.ts'
import { httpsFetch } from '../support/https-fetch.ts'
import { siteFor } from '../support/site.ts'

const open = siteFor(t)
const MINUTE_MS = 60_000

t.test(
  'a newcomer signs up and sees the first heartbeat arrive, in under a minute',
  { skip: withoutChromium },
  async (t) => {
    const { api, visit } = await open()
    const { page, ...alice } = await visit()
    const began = performance.now()
    await alice.open('/signup')
    await page.getByLabel('Organization').fill("Alice's")
    await page.getByLabel('Your name').fill('Alice')
    await page.getByLabel('E-mail').fill('alice@example.com')
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.waitForURL('**/welcome')
    await page.getByLabel('What shall report?').fill('Nightly backup')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByText('Waiting for the first heartbeat').waitFor()
    const command = await page.getByLabel('curl snippet', { exact: true }).innerText()
    const pushUrl = /'(https:[^']+)'/.exec(command)?.[1] ?? ''
    const push = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const
    t.equal((await httpsFetch(api.ca as Buffer)(pushUrl, push)).status, 200)
    await page.getByText('The first heartbeat arrived').waitFor()
    t.ok(performance.now() - began < MINUTE_MS)
    await page.getByRole('link', { name: 'See its page' }).click()
    await page.getByRole('heading', { name: 'Nightly backup' }).waitFor()
    await page.getByText('Up', { exact: true }).first().waitFor()
    t.strictSame(alice.complaints(), [])
  }
)

t.test(
  'a sign-up that is refused keeps what was typed and says at the field how to fix it',
  { skip: withoutChromium },
  async (t) => {
    const { visit } = await open()
    const { page, ...bob } = await visit()
    await bob.open('/signup')
    await page.getByLabel('Organization').fill("Bob's")
    await page.getByLabel('Your name').fill('Bob')
    await page.getByLabel('E-mail').fill('bob@example.com')
    const password = page.getByRole('textbox', { name: 'Password' })
    await password.fill('short')
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.locator('[aria-invalid=true]').waitFor()
    t.equal(await password.getAttribute('aria-invalid'), 'true')
    t.equal(await page.evaluate('document.activeElement.type'), 'password', 'the field to fix has the focus')
    t.equal(await page.getByLabel('Organization').inputValue(), "Bob's")
    t.equal(await password.inputValue(), 'short')
    t.match(await page.locator('form').innerText(), /at least 15 characters/i)
    t.strictSame(bob.complaints(), ['422 POST /v1/auth/signup'])

    await page.getByLabel('E-mail').fill('not an address')
    await password.fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.getByLabel('E-mail').and(page.locator('[aria-invalid=true]')).waitFor()
    t.equal(await page.evaluate('document.activeElement.type'), 'email', 'and the field to fix has the focus')
    bob.complaints()
  }
)
