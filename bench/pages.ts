import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type APIRequestContext, type Browser, chromium, type Page, request } from 'playwright-core'
import type { SignedIn } from '../shared/contract/auth.ts'
import type { MonitorAnswer } from '../shared/contract/monitors.ts'
import { StartupError } from '../shared/env.ts'
import { type BenchConfig, readConfig } from './config.ts'
import { freePort } from './free-port.ts'
import { median } from './measure.ts'
import { insertPoints, seedPages } from './pages-seed.ts'
import { untilReady } from './pipelines.ts'
import { type BenchProcess, startProcess } from './processes.ts'
import { checkpoint, type Ground, prepareGround } from './setup.ts'

/**
 * `node dist/bench/pages.js`: the dashboard in headless Chromium, on an organization with 1,000 monitors and 90 days of
 * history. Prints what it measured; about a minute. Needs Chromium: `CHROMIUM`, else /usr/bin/chromium.
 */

const MONITORS = 1000
const POINTS = 10_000
const RUNS = 7
/** Then it is given up. */
const LONGEST_MS = 120_000
const PASSWORD = 'a garden of nine lamps'
const PERSON = { organizationName: 'Bench', name: 'Alice', email: 'alice@example.com', password: PASSWORD }
const PUSHED = 'Heard of just now'
/** Tells tasks that held the page up for longer than 50 ms. */
const WATCH_TASKS = `
  globalThis.longTasks = []
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) longTasks.push(startTime + duration)
  }).observe({ type: 'longtask', buffered: true })`

interface Site {
  url: string
  processes: BenchProcess[]
  api: APIRequestContext
  jwt: string
  monitor: MonitorAnswer
}

export interface PagesFigures {
  /** Milliseconds since the address was entered: the first bars are painted; nothing holds the page up any more. */
  shown: number
  interactive: number
  /** Milliseconds from words in the search until the list shows what fits. */
  search: number
  /** Milliseconds from the acknowledgement of a heartbeat until the list shows it. */
  visible: number
  /** Milliseconds from the last byte of 10,000 heartbeats until they are drawn. */
  plotted: number
  /** Kilobytes of compressed script that the sign-in page asks for. */
  script: number
}

async function send<T>(api: APIRequestContext, path: string, data: unknown, jwt?: string): Promise<T> {
  const response = await api.post(path, { data, headers: jwt === undefined ? {} : { authorization: `Bearer ${jwt}` } })
  if (!response.ok()) throw new Error(`POST ${path} answered ${response.status()}: ${await response.text()}`)
  return (await response.json()) as T
}

/** An API and a worker of their own. */
async function startSite(ground: Ground): Promise<Pick<Site, 'url' | 'processes'>> {
  const [port, httpPort, apiAdmin, workerAdmin] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort()
  ]
  const env = {
    ...ground.childEnv,
    DATABASE_URL: ground.databaseUrl,
    REDIS_URL: ground.redisUrl,
    SECRETS_KEY: ground.secretsKey,
    DATA_DIR: ground.dir,
    API_PORT: String(port),
    HTTP_PORT: String(httpPort),
    API_ADMIN_PORT: String(apiAdmin),
    WORKER_ADMIN_PORT: String(workerAdmin),
    RATE_LIMIT_SCALE: '1000',
    PULSEGATE_PARENT_PIPE: '1'
  }
  const api = startProcess('api', '../api/main.js', [], env)
  const worker = startProcess('worker', '../worker/main.js', [], env)
  await Promise.all([untilReady(api, apiAdmin), untilReady(worker, workerAdmin)])
  return { url: `https://localhost:${port}`, processes: [api, worker] }
}

/** An organization full of monitors, and one monitor with heartbeats that the bench reports itself. */
async function fill(ground: Ground, api: APIRequestContext): Promise<Pick<Site, 'jwt' | 'monitor'>> {
  const { jwt, organization } = await send<SignedIn>(api, '/v1/auth/signup', PERSON)
  await seedPages(ground.db, organization.id, MONITORS - 1)
  const monitor = await send<MonitorAnswer>(api, '/v1/monitors', { name: PUSHED, kind: 'heartbeat' }, jwt)
  await insertPoints(ground.db, monitor.id, POINTS)
  await checkpoint(ground.db)
  return { jwt, monitor }
}

async function signIn(browser: Browser, { url }: Site): Promise<Page> {
  const context = await browser.newContext({
    baseURL: url,
    ignoreHTTPSErrors: true,
    viewport: { width: 1280, height: 900 }
  })
  await context.addInitScript(WATCH_TASKS)
  const page = await context.newPage()
  await page.goto('/login')
  await page.getByLabel('E-mail').fill(PERSON.email)
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor()
  return page
}

/** Loads the list anew; it is interactive when its bars are there and the last task that held the page up is over. */
async function measureOverview(page: Page): Promise<{ shown: number; interactive: number }> {
  await page.goto('/')
  return page.evaluate(`new Promise((resolve) => {
    let shown
    const look = () => {
      const now = performance.now()
      const bar = document.querySelector('.monitor-row canvas')
      if (shown === undefined && bar !== null && bar.width !== 300) shown = now
      const last = Math.max(shown ?? now, ...longTasks)
      if (shown !== undefined && now - last > 1000) resolve({ shown, interactive: last })
      else setTimeout(look, 5)
    }
    look()
  })`)
}

/** From words in the search until the list shows only what fits. */
async function measureSearch(page: Page): Promise<number> {
  const box = page.getByLabel('Search monitors')
  await box.fill('')
  const done = page.evaluate(`new Promise((resolve) => {
    let began = Infinity
    document.addEventListener('input', () => { began = performance.now() }, { once: true, capture: true })
    new MutationObserver((_, self) => {
      if (document.querySelectorAll('.monitor-row').length > 2) return
      self.disconnect()
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)))
    }).observe(document.querySelector('main'), { childList: true, subtree: true })
  })`)
  await box.fill('0777')
  return done as Promise<number>
}

/** Reports the other state of a monitor, and waits for its word in the list. */
async function measureVisible(page: Page, site: Site, status: 'up' | 'down'): Promise<number> {
  const word = status === 'up' ? 'Up' : 'Down'
  const seen = page.evaluate(`new Promise((resolve) => {
    const look = () => {
      const row = [...document.querySelectorAll('.monitor-row')].find((row) => row.textContent.includes('${PUSHED}'))
      if (row?.textContent.includes('${word}')) resolve(Date.now())
      else requestAnimationFrame(look)
    }
    look()
  })`)
  const item = { monitorId: site.monitor.id, status, latency: 12, timestamp: new Date().toISOString() }
  await send(site.api, '/api/heartbeats', [item], site.jwt)
  const acknowledged = Date.now()
  return ((await seen) as number) - acknowledged
}

async function measurePlot(page: Page, { monitor }: Site): Promise<number> {
  await page.goto(`/monitors/${monitor.id}?window=1h`)
  return page.evaluate(`new Promise((resolve) => {
    const look = () => {
      const pages = performance.getEntriesByType('resource').filter(({ name }) => name.includes('resolution=raw'))
      const drawn = performance.getEntriesByName('latency-plot').at(-1)
      if (pages.length < 10 || drawn === undefined || drawn.startTime < pages[9].responseEnd) setTimeout(look, 20)
      else resolve(drawn.startTime - pages[9].responseEnd)
    }
    look()
  })`)
}

async function measureScript(browser: Browser, { url }: Site): Promise<number> {
  const page = await browser.newPage({ baseURL: url, ignoreHTTPSErrors: true })
  await page.goto('/login', { waitUntil: 'networkidle' })
  const bytes = await page.evaluate<number>(`performance.getEntriesByType('resource')
    .filter(({ name }) => name.endsWith('.js')).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`)
  await page.close()
  return bytes / 1000
}

async function repeat(work: () => Promise<number>): Promise<number> {
  const times: number[] = []
  for (let run = 0; run < RUNS; run++) times.push(await work())
  return median(times, (time) => time)
}

export async function measurePages(ground: Ground, chromiumPath: string): Promise<PagesFigures> {
  const { url, processes } = await startSite(ground)
  const api = await request.newContext({ baseURL: url, ignoreHTTPSErrors: true })
  const args = [
    '--disable-gpu',
    '--disable-background-networking',
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])
  ]
  const browser = await chromium.launch({ executablePath: chromiumPath, args })
  // Whatever waits in it fails.
  const timer = setTimeout(() => void browser.close(), LONGEST_MS)
  try {
    const site: Site = { url, processes, api, ...(await fill(ground, api)) }
    const page = await signIn(browser, site)
    await measureOverview(page)
    const loads = []
    for (let run = 0; run < RUNS; run++) loads.push(await measureOverview(page))
    const { shown, interactive } = median(loads, (load) => load.interactive)
    const search = await repeat(() => measureSearch(page))
    await page.goto('/')
    await page.getByText('Live', { exact: true }).waitFor()
    let turn = 0
    const visible = await repeat(() => measureVisible(page, site, turn++ % 2 === 0 ? 'down' : 'up'))
    const plotted = await repeat(() => measurePlot(page, site))
    return { shown, interactive, search, visible, plotted, script: await measureScript(browser, site) }
  } finally {
    clearTimeout(timer)
    await Promise.all([browser.close(), api.dispose()])
    await Promise.all(processes.map((child) => child.stop()))
  }
}

/** Why the dashboard is not measured here, or null. */
function hindrance(chromiumPath: string): string | null {
  return existsSync(chromiumPath) ? null : `There is no Chromium at ${chromiumPath}; CHROMIUM says where it is.`
}

/**
 * The same on stores of its own, so that no other figure knows of it; or a sentence that says why there is none. The figures
 * of a quarter of an hour must not be lost for a page.
 */
export async function measurePagesApart(config: BenchConfig): Promise<PagesFigures | string> {
  const missing = hindrance(config.chromium)
  if (missing !== null) return missing
  const ground = await prepareGround(config)
  try {
    return await measurePages(ground, config.chromium)
  } catch (error) {
    return `It failed: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)}`
  } finally {
    await ground.stop()
  }
}

/** Lines of the report: what, wanted, measured, met. */
export function pagesLines({ shown, interactive, search, visible, plotted, script }: PagesFigures): string[][] {
  const ms = (what: string, value: number, most?: number) => limited(what, Math.round(value), 'ms', most)
  return [
    ms('1,000 monitors: until their bars are seen', shown),
    ms('1,000 monitors: until nothing holds the page up', interactive, 1000),
    ms('1,000 monitors: from words in the search to what fits', search),
    ms('from the acknowledgement of a heartbeat until it is seen among 1,000 monitors', visible, 1000),
    ms('10,000 points: from their last byte until they are drawn', plotted, 100),
    limited('compressed script of the sign-in page', Math.round(script), 'kB', 250)
  ]
}

function limited(what: string, value: number, unit: string, most?: number): string[] {
  if (most === undefined) return [what, '–', `${value} ${unit}`, '–']
  return [what, `≤ ${most} ${unit}`, `${value} ${unit}`, value <= most ? 'yes' : '**no**']
}

async function main(): Promise<void> {
  const figures = await measurePagesApart(readConfig())
  if (typeof figures === 'string') throw new StartupError(figures)
  for (const line of pagesLines(figures)) process.stdout.write(`${line.join(' | ')}\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await main()
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}
