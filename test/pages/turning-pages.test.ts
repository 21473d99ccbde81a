import type { Locator } from 'playwright-core'
import { t } from 'tap'
import { createMonitor, signUp } from '../support/cast.ts'
import { withoutChromium } from '../support/chromium.ts'
import { siteFor } from '../support/site.ts'
import { receiverFor } from '../support/webhook-receiver.ts'

const open = siteFor(t)
const options = { skip: withoutChromium }
/** Rows of a page. */
const PAGE = 25

/** Turns a page by this button and waits until it shows these words. */
async function turn(list: Locator, button: 'Newer' | 'Older', words: string): Promise<void> {
  await list.getByRole('button', { name: button }).click()
  await list.getByText(words, { exact: true }).waitFor()
}

t.test('heartbeats are turned page by page to the oldest, and back to the newest', options, async (t) => {
  const { api, visit } = await open()
  const { email, jwt } = await signUp(api, 'Alice')
  const { id } = await createMonitor(api, jwt, { name: 'Backup', kind: 'heartbeat' })
  const now = Date.now()
  const json = Array.from({ length: 2 * PAGE + 3 }, (_, i) => ({
    monitorId: id,
    status: 'up',
    latency: 1,
    timestamp: new Date(now - i * 1000).toISOString(),
    message: `beat ${i + 1}`
  }))
  await api.call('POST', '/api/heartbeats', { as: jwt, json })
  const { page, ...alice } = await visit()
  await alice.signIn(email)
  await alice.open(`/monitors/${id}`)
  const list = page.getByRole('main')
  const shown = async () => (await list.getByText(/^beat \d+$/).allInnerTexts()).map((text) => Number(text.slice(5)))
  const numbers = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i)
  const pages = [numbers(1, PAGE), numbers(PAGE + 1, 2 * PAGE), numbers(2 * PAGE + 1, 2 * PAGE + 3)]

  await list.getByText('beat 1', { exact: true }).waitFor()
  t.same(await shown(), pages[0])
  t.ok(await list.getByRole('button', { name: 'Newer' }).isDisabled(), 'nothing is newer')
  await turn(list, 'Older', 'beat 26')
  t.same(await shown(), pages[1])
  await turn(list, 'Older', 'beat 51')
  t.same(await shown(), pages[2])
  t.ok(await list.getByRole('button', { name: 'Older' }).isDisabled(), 'nothing is older')
  await turn(list, 'Newer', 'beat 26')
  t.same(await shown(), pages[1])
  await turn(list, 'Newer', 'beat 1')
  t.same(await shown(), pages[0])
  t.strictSame(alice.complaints(), [])
})

t.test(
  'messages of a webhook are turned page by page, and there is no button for a single page',
  options,
  async (t) => {
    const { api, visit } = await open()
    const receiver = await receiverFor(t)
    const { email, jwt } = await signUp(api, 'Bob')
    const json = { kind: 'webhook', name: 'Chat', url: receiver.url }
    const { id } = (await api.call('POST', '/v1/alerts/channels', { as: jwt, json })).body as { id: string }
    const send = () => api.call('POST', `/v1/alerts/channels/${id}/test`, { as: jwt })
    // The oldest is known by its answer.
    receiver.answer = (response) => response.writeHead(503).end()
    await send()
    receiver.answer = (response) => response.writeHead(204).end()
    for (let sent = 1; sent < PAGE; sent++) await send()
    const { page, ...bob } = await visit()
    await bob.signIn(email)
    await bob.open('/settings?section=webhooks')
    await page.getByRole('button', { name: 'Messages' }).click()
    const log = page.getByRole('dialog', { name: 'Messages to Chat' })
    const rows = log.getByRole('row').filter({ hasText: 'Test call' })
    await rows.nth(PAGE - 1).waitFor()
    t.equal(await log.getByRole('button', { name: 'Older' }).count(), 0)

    await send()
    await turn(log, 'Older', 'Answered 503.')
    t.equal(await rows.count(), 1)
    t.ok(await log.getByRole('button', { name: 'Older' }).isDisabled(), 'nothing is older')
    await log.getByRole('button', { name: 'Newer' }).click()
    await rows.nth(PAGE - 1).waitFor()
    t.equal(await rows.count(), PAGE)
    t.equal(await log.getByText('Answered 503.').count(), 0)
    t.ok(await log.getByRole('button', { name: 'Newer' }).isDisabled(), 'nothing is newer')
    t.strictSame(bob.complaints(), [])
  }
)
