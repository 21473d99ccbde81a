import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { apiFor, type TestApi } from './api.ts'
import { PASSWORD } from './cast.ts'
import { launchChromium } from './chromium.ts'
import type { TearsDown } from './database.ts'
import { openStores, type Stores, workerFor } from './ingest.ts'

type ApiOptions = NonNullable<Parameters<typeof apiFor>[2]>

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
/** WCAG 2.2 AA is these and all that came before. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** Each dialog of Mantine has a header of its own. */
const NOT_ASKED = Object.fromEntries(
  ['landmark-no-duplicate-banner', 'landmark-unique'].map((id) => [id, { enabled: false }])
)
/** Experimental rules have to be asked for by name. */
const ASKED = { 'label-content-name-mismatch': { enabled: true } }

/** Somebody at a browser of their own: nobody else's cookies are in it. */
export interface Visitor {
  page: Page
  /** Opens a page by its path. */
  open(path: string): Promise<void>
  /** Goes to a page of ours without loading it anew, as a link of ours would. */
  go(path: string): Promise<void>
  /** A second tab of the same browser. */
  newTab(): Promise<Page>
  /** Signs in by the page for it. */
  signIn(email: string, password?: string): Promise<void>
  /** What the console and the API complained of since the last call, such as `401 POST /v1/auth/login`. */
  complaints(): string[]
  /** What axe finds on the page as it is now, as `rule: element`. */
  barriers(): Promise<string[]>
}

export interface Site<Api extends TestApi = TestApi> {
  stores: Stores
  api: Api
  /** @param options of the browser: theme, size */
  visit(options?: BrowserContextOptions): Promise<Visitor>
}

/** Starts an API with these options. */
type StartApi<Api extends TestApi> = (t: TearsDown, stores: Stores, options: ApiOptions) => Promise<Api>

/** Listens to what a page complains of. A refused request has a line of its own, better than the console's. */
function listen(page: Page, complaints: string[]): void {
  page.on('console', (message) => {
    const isNews = message.type() === 'error' && !message.text().startsWith('Failed to load resource')
    if (isNews) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('response', (response) => {
    if (response.status() < 400) return
    complaints.push(`${response.status()} ${response.request().method()} ${new URL(response.url()).pathname}`)
  })
}

interface AxeResult {
  violations: Array<{ id: string; nodes: Array<{ html: string; failureSummary: string }> }>
}

async function findBarriers(page: Page): Promise<string[]> {
  // While its code loads a page is empty.
  await page.locator('h1').first().waitFor()
  // What fades in is half transparent for a while, and has no contrast then. What turns while something is awaited never ends.
  await page.evaluate(
    `Promise.all(document.getAnimations()
      .filter((animation) => animation.effect.getComputedTiming().endTime < Infinity)
      .map((animation) => animation.finished.catch(() => {})))`
  )
  await page.evaluate(AXE)
  const options = JSON.stringify({ runOnly: RULES, resultTypes: ['violations'], rules: { ...NOT_ASKED, ...ASKED } })
  const { violations } = (await page.evaluate(`axe.run(document, ${options})`)) as AxeResult
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`)
  )
}

async function visitorOf(browser: Browser, baseURL: string, options: BrowserContextOptions): Promise<Visitor> {
  const context = await browser.newContext({ baseURL, ignoreHTTPSErrors: true, reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(20_000)
  const complaints: string[] = []
  const newTab = async () => {
    const page = await context.newPage()
    listen(page, complaints)
    return page
  }
  const page = await newTab()
  const open = async (path: string) => {
    await page.goto(path)
  }
  return {
    page,
    open,
    go: async (path) => {
      await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`)
    },
    newTab,
    signIn: async (email, password = PASSWORD) => {
      await open('/login')
      await page.getByLabel('E-mail').fill(email)
      await page.getByRole('textbox', { name: 'Password' }).fill(password)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' })
    },
    complaints: () => complaints.splice(0),
    barriers: () => findBarriers(page)
  }
}

async function start<Api extends TestApi>(
  t: TearsDown,
  options: ApiOptions,
  startApi: StartApi<Api>
): Promise<Site<Api>> {
  const stores = await openStores(t)
  const api = await startApi(t, stores, { tls: true, rateLimitScale: 100, ...options })
  await workerFor(t, stores)
  const { hostname, port } = new URL(api.apiUrl)
  // An address of the installation that is not the one it listens at.
  const browser = await launchChromium(port === '' ? `MAP ${hostname}:443 localhost:${api.port}` : '')
  t.teardown(() => browser.close())
  return { stores, api, visit: (browserOptions = {}) => visitorOf(browser, api.apiUrl, browserOptions) }
}

/**
 * The dashboard on a stack of the file's own, and one Chromium. Both start when the first test asks for them, so that
 * nothing starts where there is no Chromium.
 */
export function siteFor(t: TearsDown, options?: ApiOptions): () => Promise<Site>
export function siteFor<Api extends TestApi>(
  t: TearsDown,
  options: ApiOptions,
  startApi: StartApi<Api>
): () => Promise<Site<Api>>
export function siteFor(t: TearsDown, options: ApiOptions = {}, startApi: StartApi<TestApi> = apiFor) {
  let site: Promise<Site> | undefined
  return () => {
    site ??= start(t, options, startApi)
    return site
  }
}
