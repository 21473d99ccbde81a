import { t } from 'tap'
import { invite, signUp } from '../support/cast.ts'
import { withoutChromium } from '../support/chromium.ts'
import { siteFor } from '../support/site.ts'

const client = { issuer: 'https://login.example.com', clientId: 'pulsegate', clientSecret: 'hush' }
const open = siteFor(t, { sso: { entra: client, google: client } })

t.test(
  'an invitation can be accepted by the identity providers of the installation',
  { skip: withoutChromium },
  async (t) => {
    const { api, visit } = await open()
    const { jwt } = await signUp(api, 'Alice')
    const token = await invite(api, jwt, 'bob@example.com')
    const { page, ...bob } = await visit()
    await bob.open(`/invitations/${token}`)
    for (const [name, provider] of [
      ['Microsoft', 'entra'],
      ['Google', 'google']
    ]) {
      const href = await page.getByRole('link', { name: `Sign in with ${name}` }).getAttribute('href')
      const { pathname, searchParams } = new URL(href ?? '', api.url)
      t.equal(pathname, `/v1/auth/sso/${provider}`)
      t.strictSame(Object.fromEntries(searchParams), { returnTo: '/', invitation: token })
    }
    t.strictSame(bob.complaints(), [])
  }
)

t.test('who forgot the password is told whom to ask where no mail is sent', { skip: withoutChromium }, async (t) => {
  const { visit } = await open()
  const { page, ...charlie } = await visit()
  await charlie.open('/forgot-password')
  await page.getByText('This installation sends no mail').waitFor()
  t.match(await page.getByLabel('command', { exact: true }).innerText(), /^npm run admin -- users reset-password /)
  t.equal(await page.getByLabel('E-mail').count(), 0)
  t.strictSame(charlie.complaints(), [])
})
