import { t } from 'tap'
import { createMonitor, join, signUp } from '../support/cast.ts'
import { withoutChromium } from '../support/chromium.ts'
import { siteFor } from '../support/site.ts'

const options = { skip: withoutChromium }
let ahead = 0
const open = siteFor(t, { clock: () => Date.now() + ahead })
t.afterEach(() => {
  ahead = 0
})

t.test('an owner changes a role and removes a person, whose page then asks to sign in', options, async (t) => {
  const { api, visit } = await open()
  const alice = await signUp(api, 'Alice')
  const bob = await join(api, alice.jwt, 'Bob')
  const { page, ...owner } = await visit()
  const member = await visit()
  await member.signIn(bob.email)
  await owner.signIn(alice.email)
  await owner.open('/settings?section=team')
  await page.getByRole('combobox', { name: 'Role of Bob' }).click()
  await page.getByRole('option', { name: 'admin' }).click()
  await page.getByRole('row').filter({ hasText: bob.email }).waitFor()
  await member.open('/agents')
  await member.page.getByRole('button', { name: 'New Agent' }).waitFor()

  await page.getByRole('row').filter({ hasText: bob.email }).getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('row').filter({ hasText: bob.email }).waitFor({ state: 'detached' })
  t.strictSame(owner.complaints(), [])
  await member.page.getByRole('link', { name: 'Monitors', exact: true }).click()
  await member.page.waitForURL('**/login?next=%2F')
  t.strictSame(new Set(member.complaints().map((line) => line.slice(0, 8))), new Set(['401 GET ']))
})

t.test('a member is told who may manage agents, and sees neither keys nor the audit log', options, async (t) => {
  const { api, visit } = await open()
  const { jwt } = await signUp(api, 'Charlie')
  const { email } = await join(api, jwt, 'Dora')
  const { page, ...dora } = await visit()
  await dora.signIn(email)
  await dora.open('/agents')
  await page.getByText('Only admins and owners').waitFor()
  t.equal(await page.getByRole('button', { name: 'New Agent' }).count(), 0)
  await dora.open('/settings?section=audit')
  await page.getByRole('tab', { name: 'Organization' }).waitFor()
  t.equal(await page.getByRole('tab', { name: 'Audit log' }).count(), 0)
  await dora.open('/settings?section=team')
  await page.getByRole('row').filter({ hasText: email }).waitFor()
  t.equal(await page.getByRole('heading', { name: 'Credentials' }).count(), 0)
  t.equal(await page.getByRole('button', { name: 'Remove' }).count(), 0)
  t.strictSame(dora.complaints(), [], 'nothing is asked that a member is refused')
})

t.test("a stranger's monitor is as unknown as one that never was", options, async (t) => {
  const { api, visit } = await open()
  const [eve, frank] = [await signUp(api, 'Eve'), await signUp(api, 'Frank')]
  const { id } = await createMonitor(api, frank.jwt, { name: 'Secret', kind: 'push' })
  const { page, ...stranger } = await visit()
  await stranger.signIn(eve.email)
  await stranger.open(`/monitors/${id}`)
  await page.getByRole('heading', { name: 'There is nothing here' }).waitFor()
  t.notMatch(await page.content(), 'Secret')
  t.ok(stranger.complaints().every((line) => line.startsWith('404 GET /')))
})

t.test('what asks for a recent sign-in asks for the password and then goes on', options, async (t) => {
  const { api, visit } = await open()
  const { email } = await signUp(api, 'Grace')
  const { page, ...grace } = await visit()
  await grace.signIn(email)
  await grace.open('/settings?section=sso')
  await page.getByText('Google Workspace', { exact: true }).click()
  ahead = 11 * 60_000
  await page.getByLabel('Domain').fill('example.com')
  await page.getByRole('button', { name: 'Add' }).click()
  const question = page.getByRole('dialog', { name: 'Is it you?' })
  await question.getByRole('button', { name: 'Cancel' }).click()
  t.match(await page.getByRole('alert').innerText(), /sign in again/i)
  t.equal(await page.getByLabel('Domain').inputValue(), 'example.com')

  await page.getByRole('button', { name: 'Add' }).click()
  await question.getByRole('textbox').fill('not the password')
  await question.getByRole('button', { name: 'Continue' }).click()
  await question.getByRole('alert').waitFor()
  await question.getByRole('textbox').fill('a garden of nine lamps')
  await question.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('_pulsegate-challenge.example.com').waitFor()
  t.strictSame(grace.complaints(), [
    '403 POST /v1/organization/sso',
    '403 POST /v1/organization/sso',
    '401 POST /v1/auth/login'
  ])
})
