import { t } from 'tap'
import { replacePlan } from '../../shared/store/organization-plans.ts'
import { createAgent, createMonitor, join, signUp } from '../support/cast.ts'
import { withoutChromium } from '../support/chromium.ts'
import { siteFor } from '../support/site.ts'

const options = { skip: withoutChromium }
let ahead = 0
const open = siteFor(t, { clock: () => Date.now() + ahead })
t.afterEach(() => {
  ahead = 0
})

t.test(
  'an owner deletes the organization by its name and a recent proof, and is signed out of it',
  options,
  async (t) => {
    const { api, visit } = await open()
    const { email, jwt } = await signUp(api, 'Alice')
    const { page, ...alice } = await visit()
    await alice.signIn(email)
    await alice.open('/settings?section=organization')
    await page.getByRole('button', { name: 'Delete the organization' }).click()
    const question = page.getByRole('dialog', { name: "Delete Alice's?" })
    const name = question.getByRole('textbox')
    await name.fill('Wonderland')
    await question.getByRole('button', { name: 'Delete for good' }).click()
    await question.getByText('This is not the name of the organization.').waitFor()
    t.equal(await name.inputValue(), 'Wonderland', 'what was typed stays')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      t.strictSame(await alice.barriers(), [], `the question, ${colorScheme}`)
    }
    await name.fill("Alice's")
    ahead = 11 * 60_000
    await question.getByRole('button', { name: 'Delete for good' }).click()
    const proof = page.getByRole('dialog', { name: 'Is it you?' })
    await proof.getByRole('textbox').fill('a garden of nine lamps')
    await proof.getByRole('button', { name: 'Continue' }).click()
    await page.getByText("Alice's is deleted.").waitFor()
    await page.waitForURL('**/login*')
    t.equal((await api.call('GET', '/v1/monitors', { as: jwt })).status, 401)
    t.strictSame(
      alice.complaints().filter((line) => !line.startsWith('401 GET')),
      ['422 DELETE /v1/organization', '403 DELETE /v1/organization']
    )
  }
)

t.test('who leaves is asked first, and the last owner is told why that cannot be', options, async (t) => {
  const { api, visit } = await open()
  const owner = await signUp(api, 'Bob')
  const member = await join(api, owner.jwt, 'Charlie')
  const [bob, charlie] = [await visit(), await visit()]
  await bob.signIn(owner.email)
  await bob.open('/settings?section=organization')
  const leave = async ({ page }: typeof bob) => {
    await page.getByRole('button', { name: 'Leave the organization' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click()
  }
  await leave(bob)
  t.match(await bob.page.getByRole('dialog').getByRole('alert').innerText(), /owner/)
  t.strictSame(bob.complaints(), ['409 POST /v1/organization/leave'])

  await charlie.signIn(member.email)
  await charlie.open('/settings?section=organization')
  await charlie.page.getByText('Plan and retention').waitFor()
  t.ok(await charlie.page.getByRole('textbox', { name: 'Name', exact: true }).isDisabled())
  t.equal(await charlie.page.getByRole('button', { name: 'Delete the organization' }).count(), 0)
  await leave(charlie)
  await charlie.page.waitForURL('**/login*')
})

t.test('the plan tells what is used, what is kept, and what is about to be deleted', options, async (t) => {
  const { api, stores, visit } = await open()
  const { email, jwt, organizationId } = await signUp(api, 'Dora')
  await createMonitor(api, jwt, { name: 'Shop', kind: 'push' })
  await createAgent(api, jwt, { name: 'Rack 1' })
  await stores.db.transaction((tx) => replacePlan(tx, organizationId, 'free', Date.now()))
  const { page, ...dora } = await visit()
  await dora.signIn(email)
  await dora.open('/settings?section=organization')
  await page.getByText('1 of 50 monitors').waitFor()
  const text = await page.locator('main').innerText()
  t.match(text, /1 of 10 agents and services/)
  t.match(text, /It keeps single heartbeats for 7 days, .* of a day for 400 days/)
  t.match(text, /Older history is about to be deleted.*of a day for ever/s)
  t.strictSame(await dora.barriers(), [])
  t.strictSame(dora.complaints(), [])
})
