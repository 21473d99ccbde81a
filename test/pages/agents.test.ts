import { t } from 'tap'
import { createAgent, createMonitor, signUp } from '../support/cast.ts'
import { withoutChromium } from '../support/chromium.ts'
import { connectAgent } from '../support/fake-agent.ts'
import { gatewayFor } from '../support/ingest.ts'
import { siteFor } from '../support/site.ts'

const options = { skip: withoutChromium }
const open = siteFor(t)
const KEY = /^pg[as]_\w+$/

t.test('New Agent asks for a name alone and shows the key once', options, async (t) => {
  const { api, visit } = await open()
  const { email } = await signUp(api, 'Alice')
  const { page, ...alice } = await visit()
  await alice.signIn(email)
  await page.getByRole('link', { name: 'Agents', exact: true }).click()
  await page.getByText('No agents yet').waitFor()
  await page.getByRole('button', { name: 'New Agent' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('web-1')
  await page.keyboard.press('Enter')
  const apiKey = (await dialog.getByLabel('API key', { exact: true }).innerText()).trim()
  t.match(apiKey, KEY)
  t.equal((await api.call('GET', '/v1/monitors', { as: apiKey })).status, 403, 'the key is known, and may only report')
  await page.keyboard.press('Escape')
  t.ok(await dialog.isVisible(), 'a stray key does not lose it')
  await dialog.getByRole('button', { name: 'I have saved it' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('listitem').filter({ hasText: 'web-1' }).waitFor()
  t.notMatch(await page.content(), apiKey)
  await page.reload()
  await page.getByRole('listitem').filter({ hasText: 'web-1' }).waitFor()
  t.notMatch(await page.content(), apiKey)
  t.strictSame(alice.complaints(), [])
})

t.test('a second key overlaps the first, rotating ends both, and deleting ends the rest', options, async (t) => {
  const { api, visit } = await open()
  const { email, jwt } = await signUp(api, 'Bob')
  await createMonitor(api, jwt, { name: 'Shop', kind: 'heartbeat' })
  const { page, ...bob } = await visit()
  await bob.signIn(email)
  await bob.open('/settings?section=team')
  await page.getByRole('button', { name: 'New Agent' }).click()
  const dialog = page.getByRole('dialog')
  const keyShown = async () => {
    const key = (await dialog.getByLabel('API key', { exact: true }).innerText()).trim()
    await dialog.getByRole('button', { name: 'I have saved it' }).click()
    return key
  }
  const statusOf = async (key: string) => (await api.call('GET', '/v1/monitors', { as: key })).status

  await dialog.getByLabel('Name').fill('Deploys')
  await dialog.getByText('Service', { exact: true }).click()
  await dialog.getByLabel('Read monitors').check()
  await dialog.getByRole('button', { name: 'Create' }).click()
  const first = await keyShown()
  await page.getByRole('button', { name: 'Keys', exact: true }).click()
  await dialog.getByRole('button', { name: 'Add a second key' }).click()
  const second = await keyShown()
  t.strictSame([await statusOf(first), await statusOf(second)], [200, 200])

  await dialog.getByRole('button', { name: 'Rotate' }).click()
  await page
    .getByRole('dialog', { name: /^Rotate the keys/ })
    .getByRole('button', { name: 'Rotate' })
    .click()
  const third = await keyShown()
  t.strictSame([await statusOf(first), await statusOf(second), await statusOf(third)], [401, 401, 200])
  await dialog.getByRole('button', { name: 'Close' }).click()
  await dialog.waitFor({ state: 'detached' })

  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No agents yet').waitFor()
  t.equal(await statusOf(third), 401)
  t.strictSame(bob.complaints(), [])
})

t.test('an agent gets another name and its monitors, which it learns at once', options, async (t) => {
  const { api, stores, visit } = await open()
  const gateway = await gatewayFor(t, stores)
  const { email, jwt } = await signUp(api, 'Charlie')
  const web = { kind: 'http', target: 'https://shop.example.com/' }
  await createMonitor(api, jwt, { ...web, name: 'Shop' })
  await createMonitor(api, jwt, { ...web, name: 'Blog' })
  await createMonitor(api, jwt, { name: 'Nightly backup', kind: 'push' })
  const { apiKey } = await createAgent(api, jwt, { name: 'web-1' })
  const agent = await connectAgent({ url: gateway.url, apiKey })
  t.strictSame((await agent.hello()).monitors, [])
  const { page, ...charlie } = await visit()
  await charlie.signIn(email)
  await charlie.open('/agents')
  const row = page.getByRole('listitem').filter({ hasText: 'web-1' })
  await row.getByText('Online').waitFor()
  await row.getByText('no monitors yet').waitFor()
  await row.getByRole('button', { name: 'Change' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill(' ')
  await dialog.getByRole('button', { name: 'Choose all that agents check (2)' }).click()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByLabel('Name').and(page.locator('[aria-invalid=true]')).waitFor()
  t.strictSame(
    charlie.complaints().map((line) => line.slice(0, 9)),
    ['422 PATCH']
  )
  await dialog.getByLabel('Name').fill('Rack 1')
  await dialog.getByRole('button', { name: 'Save' }).click()
  const { monitors } = await agent.next('monitors')
  t.strictSame(monitors.map(({ name }) => name).sort(), ['Blog', 'Shop'])
  const renamed = page.getByRole('listitem').filter({ hasText: 'Rack 1' })
  await renamed.getByText('Shop, Blog').waitFor()
  t.equal(await row.count(), 0)
  t.strictSame(charlie.complaints(), [])
  await agent.close()
})

t.test('a service gets a further scope, and its key may do that at once', options, async (t) => {
  const { api, visit } = await open()
  const { email, jwt } = await signUp(api, 'Dora')
  const { apiKey } = await createAgent(api, jwt, { name: 'Deploys', kind: 'service' })
  const statusOf = async () => (await api.call('GET', '/v1/monitors', { as: apiKey })).status
  t.equal(await statusOf(), 403)
  const { page, ...dora } = await visit()
  await dora.signIn(email)
  await dora.open('/settings?section=team')
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  await page.getByRole('dialog').getByLabel('Read monitors').check()
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  t.equal(await statusOf(), 200)
  t.strictSame(dora.complaints(), [])
})
