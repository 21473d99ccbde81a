import { t } from 'tap'
import { createMonitor, signUp } from '../support/cast.ts'
import { withoutChromium } from '../support/chromium.ts'
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
