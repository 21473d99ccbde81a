import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { StartupError } from '../shared/env.ts'
import { readIfThere, replaceFile } from '../shared/kept-file.ts'
import type { LocalConfig } from './config.ts'
import { type DemoApi, openDemoApi } from './demo-api.ts'
import type { Say } from './say.ts'
import type { Installation } from './supervisor.ts'

interface Options {
  config: LocalConfig
  installation: Installation
  say: Say
}

/** What later starts need: the API shows a key only once. */
interface Kept {
  email: string
  password: string
  agentKey?: string
  readerKey?: string
}

interface Named {
  name: string
  [field: string]: unknown
}

interface Listed {
  id: string
  name: string
  pushUrl?: string
}

const EMAIL = 'demo@example.com'
const WEBSITE = 'This installation (demo)'
const CRON_JOB = 'A cron job (demo)'
const AGENT = 'Demo agent'
const READER = 'Demo reader'
const PUSH_EVERY_MS = 10_000
const EVERY = { intervalSeconds: PUSH_EVERY_MS / 1_000 }

function keep(file: string, kept: Kept): void {
  replaceFile(file, `${JSON.stringify(kept, null, 2)}\n`)
}

function readKept(file: string): Kept {
  const text = readIfThere(file)
  if (text !== undefined) return JSON.parse(text) as Kept
  const kept = { email: EMAIL, password: randomBytes(15).toString('base64url') }
  // Before it is used: an account whose password nobody knows would be in the way for good.
  keep(file, kept)
  return kept
}

async function signIn(api: DemoApi, { email, password }: Kept, file: string): Promise<string> {
  const account = { organizationName: 'Demo', name: 'Demo', email, password }
  const made = await api.call('POST', '/v1/auth/signup', account)
  if (made.status === 201) return (made.body as { jwt: string }).jwt
  const login = await api.call('POST', '/v1/auth/login', { email, password })
  if (login.status === 200) return (login.body as { jwt: string }).jwt
  throw new StartupError(
    `The demo account ${email} can be neither made (${made.status}) nor entered with the password in ${file} (${login.status}): remove that account, or start without --demo.`
  )
}

async function findOrMake(api: DemoApi, jwt: string, path: string, body: Named): Promise<Listed> {
  const { data } = (await api.must('GET', `${path}?limit=1000`, undefined, jwt)) as unknown as { data: Listed[] }
  return data.find(({ name }) => name === body.name) ?? ((await api.must('POST', path, body, jwt)) as unknown as Listed)
}

/** The key of an identity: the kept one, that of a new identity, or a rotated one when the kept one is lost. */
async function keyOf(api: DemoApi, jwt: string, body: Named, kept: string | undefined): Promise<string> {
  const found = (await findOrMake(api, jwt, '/v1/agents', body)) as Listed & { apiKey?: string }
  if (found.apiKey !== undefined) return found.apiKey
  if (kept !== undefined) return kept
  return (await api.must('POST', `/v1/agents/${found.id}/rotate`, {}, jwt)).apiKey as string
}

function pushRegularly(api: DemoApi, pushUrl: string, say: Say): void {
  const { pathname } = new URL(pushUrl)
  const push = async () => {
    const began = performance.now()
    try {
      await api.call('GET', `${pathname}?status=up&msg=OK&ping=${Math.round(performance.now() - began) + 1}`)
    } catch (error) {
      // The API is being started again, for example: the next push shows whether it is back.
      say.line('warn', `the demo's push failed: ${(error as Error).message}`)
    }
  }
  void push()
  setInterval(() => void push(), PUSH_EVERY_MS).unref()
}

/**
 * Adds a demo organization with two monitors, a running agent and something that pushes, all by the public API; a
 * later start finds what an earlier one made. Returns lines for the banner. Rejects when the API refuses.
 */
export async function runDemo({ config, installation, say }: Options): Promise<string[]> {
  const { addresses, tls } = installation
  const secure = config.TLS_MODE === 'direct'
  const api = openDemoApi(addresses.ports.API_PORT, secure)
  const file = join(config.DATA_DIR, 'demo.json')
  const kept = readKept(file)
  const jwt = await signIn(api, kept, file)
  const target = `${secure ? addresses.apiUrl : `http://localhost:${addresses.ports.API_PORT}`}/api/status`
  const website = await findOrMake(api, jwt, '/v1/monitors', { name: WEBSITE, kind: 'http', target, ...EVERY })
  const cronJob = await findOrMake(api, jwt, '/v1/monitors', { name: CRON_JOB, kind: 'push', ...EVERY })
  const monitorIds = [website.id, cronJob.id]
  const agentKey = await keyOf(api, jwt, { name: AGENT, kind: 'agent', monitorIds: [website.id] }, kept.agentKey)
  const reader = { name: READER, kind: 'service', monitorIds, scopes: ['heartbeats:read', 'monitors:read'] }
  const readerKey = await keyOf(api, jwt, reader, kept.readerKey)
  keep(file, { ...kept, agentKey, readerKey })

  const ingestUrl = secure ? addresses.ingestUrl : `ws://localhost:${addresses.ports.INGEST_PORT}`
  await installation.addAgent({ SERVICE_API_KEY: agentKey, INGEST_URL: ingestUrl, DATA_DIR: config.DATA_DIR })
  if (cronJob.pushUrl !== undefined) pushRegularly(api, cronJob.pushUrl, say)
  const trust = tls.caFile === undefined ? '' : `--cacert '${tls.caFile}' `
  const history = (id: string) => `'${addresses.apiUrl}/api/heartbeats?monitorId=${id}&limit=5'`
  return [
    `Demo account: ${kept.email}   password: ${kept.password}`,
    'An agent checks this installation and a cron job pushes, every 10 seconds. Their newest heartbeats:',
    ...monitorIds.map((id) => `  curl -s ${trust}-H 'Authorization: Bearer ${readerKey}' ${history(id)}`)
  ]
}
