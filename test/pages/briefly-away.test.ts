import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { createMonitor, signUp } from '../support/cast.ts'
import { withoutChromium } from '../support/chromium.ts'
import { siteFor } from '../support/site.ts'

const open = siteFor(t)

t.test(
  'while the API is away the page keeps what it shows, says so, and goes on by itself',
  { skip: withoutChromium },
  async (t) => {
    const { api, stores, visit } = await open()
    const { email, jwt } = await signUp(api, 'Alice')
    await createMonitor(api, jwt, { name: 'Nightly backup', kind: 'push' })
    const { page, ...alice } = await visit()
    await alice.signIn(email)
    await alice.go('/agents')
    await page.getByText('No agents yet').waitFor()
    await page.getByRole('button', { name: 'New Agent' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('web-1')
    await page.getByText('Live', { exact: true }).waitFor()
    await api.stop()
    await page.getByText('Reconnecting').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await page.getByRole('dialog').getByText('Pulsegate cannot be reached right now.').waitFor()
    t.equal(await page.getByRole('dialog').getByLabel('Name').inputValue(), 'web-1', 'what was typed stays')

    await apiFor(t, stores, { tls: true, rateLimitScale: 100, port: api.port })
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await page.getByRole('button', { name: 'I have saved it' }).click()
    await page.getByRole('listitem').filter({ hasText: 'web-1' }).waitFor()
    await page.getByRole('link', { name: 'Monitors', exact: true }).click()
    await page.getByRole('link', { name: 'Nightly backup' }).waitFor()
    t.strictSame(alice.complaints(), [])
  }
)
