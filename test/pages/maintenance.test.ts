import { t } from 'tap'
import { createMonitor, join, signUp } from '../support/cast.ts'
import { withoutChromium } from '../support/chromium.ts'
import { siteFor } from '../support/site.ts'

const options = { skip: withoutChromium }
const open = siteFor(t)
const HOUR = 3_600_000
const timezoneId = 'Africa/Johannesburg'

/** As a clock in that zone shows it, to the minute: what a field for times takes. */
function clockOf(at: number): string {
  const shown = new Intl.DateTimeFormat('sv-SE', { timeZone: timezoneId, dateStyle: 'short', timeStyle: 'short' })
  return shown.format(at).replace(' ', 'T')
}

t.test('maintenance is planned by the clock of the reader, seen at its monitors, and ended', options, async (t) => {
  const { api, visit } = await open()
  const { email, jwt } = await signUp(api, 'Alice')
  const { id } = await createMonitor(api, jwt, { name: 'Shop', kind: 'push' })
  const { page, ...alice } = await visit({ timezoneId })
  await alice.signIn(email)
  await alice.open('/settings?section=maintenance')
  await page.getByText('Nothing is planned').waitFor()
  await page.getByRole('button', { name: 'New maintenance' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Title').fill('Database update')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.getByText('Tell when it begins.').waitFor()
  t.equal(await dialog.getByLabel('Title').inputValue(), 'Database update', 'what was typed stays')
  t.ok(await dialog.getByText('Name monitors or tags.').isVisible())
  const [from, to] = [Date.now() - HOUR, Date.now() + HOUR].map((at) => Math.floor(at / 60_000) * 60_000) as [
    number,
    number
  ]
  await dialog.getByLabel('Begins').fill(clockOf(from))
  await dialog.getByLabel('Ends').fill(clockOf(to))
  await dialog.getByRole('combobox', { name: 'Monitors' }).click()
  await page.getByRole('option', { name: 'Shop' }).click()
  await dialog.getByLabel('Title').press('Enter')
  await dialog.waitFor({ state: 'detached' })
  const { body } = await api.call('GET', '/v1/maintenance', { as: jwt })
  const times = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
  t.match(body, { data: [{ ...times, monitorIds: [id], active: true }] })
  await page.getByRole('list', { name: 'Now' }).getByText('Shop').waitFor()

  await alice.go('/')
  const row = page.getByRole('listitem').filter({ hasText: 'Shop' })
  await row.getByText('Maintenance').waitFor()
  await page.getByRole('link', { name: 'Shop' }).click()
  await page.getByText('Database update, it ends').waitFor()
  t.strictSame(await alice.barriers(), [], 'the page of its monitor')
  await alice.go('/settings?section=maintenance')
  await page.getByRole('button', { name: 'End now' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'End now' }).click()
  await page.getByRole('list', { name: 'Past' }).getByText('Database update').waitFor()
  await alice.go('/')
  await row.getByText('Maintenance').waitFor({ state: 'detached' })
  t.strictSame(alice.complaints(), ['422 POST /v1/maintenance'])
})

t.test('a member plans recurring maintenance by tag, changes it and takes it back', options, async (t) => {
  const { api, visit } = await open()
  const owner = await signUp(api, 'Bob')
  const { email } = await join(api, owner.jwt, 'Charlie')
  await createMonitor(api, owner.jwt, { name: 'Shop', kind: 'push', tags: ['web'] })
  const { page, ...charlie } = await visit({ timezoneId })
  await charlie.signIn(email)
  await charlie.open('/settings?section=maintenance')
  await page.getByRole('button', { name: 'New maintenance' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Title').fill('Backups')
  await dialog.getByText('Again and again').click()
  const begins = dialog.getByLabel('Begins at')
  await begins.fill('at night')
  t.equal(await dialog.getByRole('combobox', { name: 'Time zone' }).inputValue(), timezoneId)
  await dialog.getByLabel('Or tags').fill('web')
  await page.keyboard.press('Enter')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.locator('[aria-invalid=true]').waitFor()
  t.equal(await begins.getAttribute('aria-invalid'), 'true')
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    t.strictSame(await charlie.barriers(), [], `the form, ${colorScheme}`)
  }
  await begins.fill(`0 ${(new Date().getUTCHours() + 12) % 24} * * *`)
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.waitFor({ state: 'detached' })
  const upcoming = page.getByRole('list', { name: 'Upcoming' })
  t.match(await upcoming.innerText(), /Backups.*Africa\/Johannesburg.*for 1 h.*#web/s)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    t.strictSame(await charlie.barriers(), [], `the list, ${colorScheme}`)
  }
  await upcoming.getByRole('button', { name: 'Change' }).click()
  t.equal(await dialog.getByLabel('Minutes it takes').inputValue(), '60')
  await dialog.getByLabel('Title').fill('Nightly backups')
  await dialog.getByLabel('Minutes it takes').fill('90')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await upcoming.getByText('for 1 h 30 min').waitFor()
  await upcoming.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('Nothing is planned').waitFor()
  t.strictSame(charlie.complaints(), ['422 POST /v1/maintenance'])
})
