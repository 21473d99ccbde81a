import { t } from 'tap'
import { createCast } from '../support/cast.ts'
import { withoutChromium } from '../support/chromium.ts'
import { siteFor } from '../support/site.ts'

const open = siteFor(t)
const PHONE = { width: 390, height: 844 }
const DESK = { width: 1280, height: 900 }

const SIGNED_OUT = ['/login', '/login?error=sso_denied', '/signup', '/forgot-password', '/reset-password#pgf_x']
const SIGNED_IN = [
  '/welcome',
  '/monitors',
  '/agents',
  ...['organization', 'team', 'sso', 'webhooks', 'maintenance', 'audit', 'account'].map(
    (section) => `/settings?section=${section}`
  )
]

/** Both themes and both widths, without loading the page twice. */
const LOOKS = [
  { colorScheme: 'light', viewport: PHONE },
  { colorScheme: 'dark', viewport: DESK }
] as const

t.test(
  'axe finds no barrier on any page, in both themes, on a desk and on a phone',
  {
    skip: withoutChromium
  },
  async (t) => {
    const { api, visit } = await open()
    const { alice, pushMonitor } = await createCast(api)
    const { page, ...visitor } = await visit()
    const inspect = async (what: string) => {
      for (const { colorScheme, viewport } of LOOKS) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize(viewport)
        t.strictSame(await visitor.barriers(), [], `${what}, ${colorScheme}`)
        t.notOk(
          await page.evaluate('document.documentElement.scrollWidth > innerWidth'),
          `${what} fits ${viewport.width}`
        )
      }
    }
    const walk = async (paths: readonly string[]) => {
      for (const path of paths) {
        await visitor.go(path)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await page.getByLabel('Loading').first().waitFor({ state: 'detached' })
        await inspect(path)
      }
    }
    await visitor.open('/login')
    await walk(SIGNED_OUT)
    t.strictSame(visitor.complaints(), [])
    await visitor.signIn(alice.email)
    await walk([...SIGNED_IN, `/monitors/${pushMonitor.id}`])

    await visitor.go('/agents')
    await page.getByRole('button', { name: 'New Agent' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('web-1')
    await inspect('New Agent')
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await page.getByRole('button', { name: 'I have saved it' }).waitFor()
    await inspect('the key')
    await page.getByRole('button', { name: 'I have saved it' }).click()
    for (const what of ['Keys', 'Change']) {
      await page.getByRole('button', { name: what, exact: true }).first().click()
      await page.getByRole('dialog').waitFor()
      await inspect(what)
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    t.strictSame(visitor.complaints(), [])
  }
)
