import { t } from 'tap'
import { join, signUp } from '../support/cast.ts'
import { withoutChromium } from '../support/chromium.ts'
import { siteFor } from '../support/site.ts'
import { waitFor } from '../support/wait-for.ts'
import { isSigned, type ReceivedMessage, receiverFor } from '../support/webhook-receiver.ts'

const options = { skip: withoutChromium }
const open = siteFor(t)
const SECRET = /^whsec_[\w+/]{43}=$/

t.test('a webhook is made, its secret is shown once and verifies a test call', options, async (t) => {
  const { api, visit } = await open()
  const receiver = await receiverFor(t)
  const { email } = await signUp(api, 'Alice')
  const { page, ...alice } = await visit()
  await alice.signIn(email)
  await alice.open('/settings?section=webhooks')
  await page.getByText('Nobody is told of outages yet').waitFor()
  await page.getByRole('button', { name: 'New webhook' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('On call')
  const url = dialog.getByLabel('URL')
  await url.fill('http://10.0.0.1/hook')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.getByText('private or otherwise special address').waitFor()
  t.equal(await url.getAttribute('aria-invalid'), 'true')
  t.equal(await url.inputValue(), 'http://10.0.0.1/hook', 'what was typed stays')
  await url.fill(receiver.url)
  await dialog.getByLabel('Degraded').check()
  t.strictSame(await alice.barriers(), [], 'the form')
  await page.keyboard.press('Enter')
  const secret = (await dialog.getByLabel('secret', { exact: true }).innerText()).trim()
  t.match(secret, SECRET)
  await page.keyboard.press('Escape')
  t.ok(await dialog.isVisible(), 'a stray key does not lose it')
  t.strictSame(await alice.barriers(), [], 'the secret')
  await dialog.getByRole('button', { name: 'I have saved it' }).click()
  await dialog.waitFor({ state: 'detached' })
  const card = page.getByRole('listitem').filter({ hasText: 'On call' })
  t.match(await card.innerText(), /Healthy.*Outages, Agents, Never heard of, Degraded/s)

  await card.getByRole('button', { name: 'Send a test' }).click()
  await card.getByText('The test call was taken').waitFor()
  t.strictSame(await alice.barriers(), [], 'a good outcome')
  t.ok(isSigned(receiver.received[0] as ReceivedMessage, secret))
  receiver.answer = (response) => response.writeHead(500).end('not today')
  await card.getByRole('button', { name: 'Send a test' }).click()
  await card.getByText('The test call was not taken').waitFor()
  await card.getByText('Failing', { exact: true }).waitFor()
  t.strictSame(await alice.barriers(), [], 'a bad outcome')
  t.match(await card.innerText(), /Answered 500\..*not today/s)
  t.notMatch(await page.content(), secret)
  t.strictSame(alice.complaints(), ['422 POST /v1/alerts/channels'])
})

t.test('the log tells what was sent, and what failed is sent again from it', options, async (t) => {
  const { api, visit } = await open()
  const receiver = await receiverFor(t)
  const { email, jwt } = await signUp(api, 'Bob')
  const json = { kind: 'webhook', name: 'Chat', url: receiver.url }
  const { body } = await api.call('POST', '/v1/alerts/channels', { as: jwt, json })
  const { page, ...bob } = await visit()
  await bob.signIn(email)
  await bob.open('/settings?section=webhooks')
  await page.getByRole('button', { name: 'Messages' }).click()
  const log = page.getByRole('dialog', { name: 'Messages to Chat' })
  await log.getByText('Nothing was sent in the last 30 days').waitFor()
  receiver.answer = (response) => response.writeHead(503).end('busy')
  await api.call('POST', `/v1/alerts/channels/${(body as { id: string }).id}/test`, { as: jwt })
  const row = log.getByRole('row').filter({ hasText: 'Test call' })
  t.match(await row.innerText(), /Failed.*1.*Answered 503\./s)
  await row.getByRole('button', { name: 'Details' }).click()
  t.equal(await log.getByLabel('answer', { exact: true }).innerText(), 'busy')
  t.match(await log.getByLabel('message', { exact: true }).innerText(), '"type": "channel.test"')
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    t.strictSame(await bob.barriers(), [], `the log, ${colorScheme}`)
  }
  receiver.answer = (response) => response.writeHead(204).end()
  await row.getByRole('button', { name: 'Send again' }).click()
  await row.getByText('Delivered', { exact: true }).waitFor()
  const [first, second] = receiver.received
  t.equal(second?.headers['webhook-id'], first?.headers['webhook-id'])
  t.strictSame(bob.complaints(), [])
})

t.test('a webhook is changed, paused, given a new secret and deleted', options, async (t) => {
  const { api, visit } = await open()
  const { email, jwt } = await signUp(api, 'Charlie')
  const json = { kind: 'webhook', name: 'Chat', url: 'https://example.com/hook' }
  await api.call('POST', '/v1/alerts/channels', { as: jwt, json })
  const { page, ...charlie } = await visit()
  await charlie.signIn(email)
  await charlie.open('/settings?section=webhooks')
  await page.getByRole('button', { name: 'Change' }).click()
  const dialog = page.getByRole('dialog')
  for (const label of ['Outages', 'Agents', 'Never heard of']) await dialog.getByLabel(label).uncheck()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.locator('[aria-invalid=true], .mantine-CheckboxGroup-error').first().waitFor()
  await dialog.getByLabel('Outages').check()
  await dialog.getByLabel('Name').fill('Pager')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  const card = page.getByRole('listitem').filter({ hasText: 'Pager' })
  await card.getByText('Tells of: Outages').waitFor()
  await card.getByRole('button', { name: 'Pause' }).click()
  await card.getByText('Paused', { exact: true }).waitFor()
  await card.getByRole('button', { name: 'Resume' }).click()
  await card.getByText('Healthy', { exact: true }).waitFor()

  await card.getByRole('button', { name: 'New secret' }).click()
  await dialog.getByRole('button', { name: 'Make a new one' }).click()
  t.match((await dialog.getByLabel('secret', { exact: true }).innerText()).trim(), SECRET)
  await dialog.getByRole('button', { name: 'I have saved it' }).click()
  // The one that asked for it may still be fading out.
  await waitFor(async () => (await dialog.count()) === 0)
  await card.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('Nobody is told of outages yet').waitFor()
  t.match(charlie.complaints(), [/^422 PATCH \/v1\/alerts\/channels\/[\w-]+$/])
})

t.test(
  'a member who asks for webhooks is told whose they are, and asks nothing that is refused',
  options,
  async (t) => {
    const { api, visit } = await open()
    const { jwt } = await signUp(api, 'Dora')
    const { email } = await join(api, jwt, 'Frank')
    const { page, ...frank } = await visit()
    await frank.signIn(email)
    for (const [section, label] of [
      ['webhooks', 'Webhooks'],
      ['sso', 'Single sign-on'],
      ['audit', 'Audit log']
    ]) {
      await frank.open(`/settings?section=${section}`)
      await page.getByText(`“${label}” is for admins and owners`).waitFor()
      t.equal(await page.getByRole('tab', { name: label as string }).count(), 0)
    }
    t.strictSame(await frank.barriers(), [])
    await page.getByRole('tab', { name: 'Team' }).click()
    await page.getByRole('heading', { name: 'People' }).waitFor()
    t.strictSame(frank.complaints(), [])
  }
)
