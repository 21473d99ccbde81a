// Makes the pictures of the README (docs/images/) from a running installation: npm run demo in one terminal, then
// node scripts/screenshots.mjs <address> <e-mail> <password>, of which the demo prints the last two.
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const FOLDER = join(dirname(dirname(fileURLToPath(import.meta.url))), 'docs', 'images')
const [address, email, password] = process.argv.slice(2)
if (!password) {
  console.error('usage: node scripts/screenshots.mjs <address> <e-mail> <password>')
  process.exit(2)
}

const DESK = { width: 1280, height: 800 }
const PHONE = { width: 390, height: 844 }

const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args })

async function enter(options) {
  const context = await browser.newContext({ baseURL: address, ignoreHTTPSErrors: true, ...options })
  const page = await context.newPage()
  await page.goto('/login')
  await page.getByLabel('E-mail').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill(password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor()
  return page
}

async function shoot(page, name) {
  await page.getByLabel('Loading').first().waitFor({ state: 'detached' })
  await page.evaluate('Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => {})))')
  await page.screenshot({ path: join(FOLDER, `${name}.png`) })
  console.log(`docs/images/${name}.png`)
}

try {
  mkdirSync(FOLDER, { recursive: true })
  const page = await enter({ viewport: DESK, colorScheme: 'light' })
  // The demo's website, not its push monitor, whose page shows a secret address.
  const website = page.getByRole('listitem').getByRole('link').last()
  await website.waitFor()
  await shoot(page, 'monitors')
  await website.click()
  await page.getByRole('heading', { name: 'History' }).waitFor()
  // A demo is young: its last day is nearly empty.
  await page.getByText('1h', { exact: true }).click()
  await page.getByRole('slider', { name: /^The last hour/ }).waitFor()
  await shoot(page, 'monitor')
  await page.goto('/settings?section=team')
  await page.getByRole('heading', { name: 'Credentials' }).waitFor()
  await shoot(page, 'team')
  await shoot(await enter({ viewport: PHONE, colorScheme: 'dark' }), 'phone')
} finally {
  await browser.close()
}
