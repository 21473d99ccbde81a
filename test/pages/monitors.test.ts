import { t } from 'tap'
import { createMonitor, signUp } from '../support/cast.ts'
import { withoutChromium } from '../support/chromium.ts'
import { siteFor } from '../support/site.ts'

const open = siteFor(t)
const options = { skip: withoutChromium }

t.test('a monitor is made with a schedule, and a bad one is refused at its field', options, async (t) => {
  const { api, visit } = await open()
  const { email } = await signUp(api, 'Alice')
  const { page, ...alice } = await visit()
  await alice.signIn(email)
  await alice.open('/')
  await page.getByRole('button', { name: 'New monitor' }).click()
  const dialog = page.getByRole('dialog', { name: 'New monitor' })
  await dialog.getByLabel('Name').fill('Nightly backup')
  await dialog.getByText('By schedule').click()
  const schedule = dialog.getByRole('textbox', { name: 'Schedule' })
  await schedule.fill('at noon')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.locator('[aria-invalid=true]').waitFor()
  t.equal(await schedule.inputValue(), 'at noon', 'what was typed stays')
  await schedule.fill('30 2 * * *')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'Nightly backup' }).waitFor()
  t.strictSame(alice.complaints(), ['422 POST /v1/monitors'])
})

t.test('how many agents have to agree is chosen in words, and stands there again', options, async (t) => {
  const { api, visit } = await open()
  const { email, jwt } = await signUp(api, 'Alice.2')
  const fields = { name: 'Shop', kind: 'http', target: 'https://example.com/', quorum: 'majority' }
  const { id } = await createMonitor(api, jwt, fields)
  const { page, ...alice } = await visit()
  await alice.signIn(email)
  await alice.open(`/monitors/${id}`)
  await page.getByRole('button', { name: 'Change' }).click()
  const dialog = page.getByRole('dialog', { name: 'Change Shop' })
  const rule = dialog.getByRole('combobox', { name: 'Down when' })
  t.equal(await rule.inputValue(), 'more than half of its agents say so')
  await rule.click()
  await page.getByRole('option', { name: 'at least so many agents say so' }).click()
  await dialog.getByLabel('How many agents').fill('3')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  t.match((await api.call('GET', `/v1/monitors/${id}`, { as: jwt })).body, { quorum: 'count:3' })
  t.strictSame(alice.complaints(), [])
})

t.test('what a monitor does by itself is chosen by a box, and stands there again', options, async (t) => {
  const { api, visit } = await open()
  const { email, jwt } = await signUp(api, 'Alice.3')
  const { page, ...alice } = await visit()
  await alice.signIn(email)
  const boxes = [
    [{ name: 'Backup', kind: 'push' }, 'A heartbeat resumes it', { resumeOnPing: true }],
    [{ name: 'Rack', kind: 'tcp', target: 'example.com:22' }, 'It is the machine of its agent', { agentIsTarget: true }]
  ] as const
  for (const [fields, label, chosen] of boxes) {
    const { id } = await createMonitor(api, jwt, fields)
    await alice.open(`/monitors/${id}`)
    const change = page.getByRole('button', { name: 'Change' })
    const dialog = page.getByRole('dialog', { name: `Change ${fields.name}` })
    await change.click()
    await dialog.getByRole('checkbox', { name: label }).check()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.match((await api.call('GET', `/v1/monitors/${id}`, { as: jwt })).body, chosen)
    await change.click()
    t.ok(await dialog.getByRole('checkbox', { name: label }).isChecked())
  }
  t.strictSame(alice.complaints(), [])
})

t.test(
  'what happens is seen without reading the page anew, and many monitors are paused at once',
  options,
  async (t) => {
    const { api, visit } = await open()
    const { email, jwt } = await signUp(api, 'Bob')
    for (const name of ['One', 'Two']) await createMonitor(api, jwt, { name, kind: 'push' })
    const { page, ...bob } = await visit()
    await bob.signIn(email)
    await bob.open('/')
    await page.getByText('Live', { exact: true }).waitFor()
    const { body } = await api.call('GET', '/v1/monitors', { as: jwt })
    const { pushUrl } = (body as { data: Array<{ pushUrl: string }> }).data[0] as { pushUrl: string }
    await api.call('GET', new URL(pushUrl).pathname)
    await page.getByText('Up', { exact: true }).first().waitFor()
    for (const box of await page.locator('main input[type=checkbox]').all()) await box.check()
    await page.getByRole('region', { name: 'Selected monitors' }).getByRole('button', { name: 'Pause' }).click()
    await page.getByText('Paused', { exact: true }).nth(1).waitFor()
    t.strictSame(bob.complaints(), [])
  }
)

t.test('each part of a heartbeat bar is read by the arrow keys, with its time', options, async (t) => {
  const { api, visit } = await open()
  const { email, jwt } = await signUp(api, 'Charlie')
  const { id, pushUrl = '' } = await createMonitor(api, jwt, { name: 'Backup', kind: 'push' })
  await api.call('GET', new URL(pushUrl).pathname)
  const { page, ...charlie } = await visit()
  await charlie.signIn(email)
  await charlie.open(`/monitors/${id}?window=1h`)
  const bar = page.getByRole('slider', { name: /^The last hour: up 1, nothing known \d+ of \d+ parts$/ })
  await bar.focus()
  t.match(await bar.getAttribute('aria-valuetext'), /: up, 1 heartbeat$/, 'the newest first')
  t.ok(await page.getByRole('tooltip').isVisible(), 'seen as well')
  await page.keyboard.press('ArrowLeft')
  t.match(await bar.getAttribute('aria-valuetext'), /\d.*: nothing known, 0 heartbeats$/)
  await page.keyboard.press('Home')
  t.equal(await bar.getAttribute('aria-valuenow'), '0')
  await page.keyboard.press('ArrowLeft')
  t.equal(await bar.getAttribute('aria-valuenow'), '0', 'there is nothing before the first')
})
