import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { t } from 'tap'
import { PASSWORD, signUp } from '../support/cast.ts'
import { withoutChromium } from '../support/chromium.ts'
import { dataDirFor } from '../support/data-dir.ts'
import { connectAgent } from '../support/fake-agent.ts'
import { gatewayFor } from '../support/ingest.ts'
import { siteFor } from '../support/site.ts'

const open = siteFor(t)
const MINUTE_MS = 60_000
const run = promisify(execFile)

t.test(
  'a newcomer signs up and sees the first heartbeat arrive, in under a minute',
  { skip: withoutChromium },
  async (t) => {
    const { visit } = await open()
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
    // As it is pasted, by somebody who trusts no authority of ours yet.
    const { stdout } = await run('sh', ['-c', `HOME='${await dataDirFor(t)}'\n${command}`])
    t.match(JSON.parse(stdout), { ok: true })
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

t.test('a website is checked by an agent whose command is shown with it', { skip: withoutChromium }, async (t) => {
  const { api, stores, visit } = await open()
  const gateway = await gatewayFor(t, stores)
  const { email } = await signUp(api, 'Charlie')
  const { page, ...charlie } = await visit()
  await charlie.signIn(email)
  await charlie.open('/welcome')
  await page.getByText('An agent checks').click()
  const address = page.getByLabel('Which address shall it check?')
  await address.fill('nowhere')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await address.and(page.locator('[aria-invalid=true]')).waitFor()
  t.strictSame(charlie.complaints(), ['422 POST /v1/monitors'])
  await address.fill('https://shop.example.com/')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByText('Waiting for it to connect').waitFor()
  const command = await page.getByLabel('terminal command', { exact: true }).innerText()
  t.match(command, `'${api.apiUrl}/ca.pem'`)
  t.match(command, /INGEST_URL=wss:\S+ .*npm run agent$/s)
  const agent = await connectAgent({ url: gateway.url, apiKey: /SERVICE_API_KEY=(\w+)/.exec(command)?.[1] ?? '' })
  const { monitors } = await agent.hello()
  t.match(monitors, [{ name: 'shop.example.com', kind: 'http', target: 'https://shop.example.com/' }])
  await page.getByText('It is connected').waitFor()
  const heartbeat = {
    monitorId: monitors[0]?.monitorId,
    status: 'up',
    latency: 12,
    timestamp: new Date().toISOString()
  }
  agent.send({ type: 'heartbeats', seq: 1, items: [heartbeat] })
  await page.getByText('The first heartbeat arrived').waitFor()
  t.strictSame(charlie.complaints(), [])
  await agent.close()
})
