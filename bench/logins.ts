import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MonitorAnswer } from '../shared/contract/monitors.ts'
import { createHeartbeatDays } from '../shared/store/heartbeat-days.ts'
import { freePort } from './free-port.ts'
import { createLatencies, type Latencies } from './latencies.ts'
import { untilReady } from './pipelines.ts'
import { type BenchProcess, cpuOf, cpuOfFamily, cpuOfMachine, startProcess } from './processes.ts'
import type { Ground } from './setup.ts'

/** Milliseconds from the moment a request was due. */
interface Quantiles {
  p50: number
  p99: number
}

/** How long history takes, while nobody signs in and while many do. */
export interface LoginRound {
  alone: Quantiles
  beside: Quantiles
  logins: Quantiles
  /** Cores in use beside sign-ins: the API's, PostgreSQL's and those of this process, which sends the requests. */
  cpu: Spent
  /** What programs that are not part of the bench used, in cores; the greater of both phases. */
  others: number
}

interface Spent {
  api: number
  postgres: number
  generator: number
}

export const LOGINS_PER_SECOND = 50
export const READS_PER_SECOND = 100
const PHASE_MS = 6000
const PEOPLE = 10
const ROWS = 5000
const PASSWORD = 'a garden of nine lamps'
const MS_PER_DAY = 86_400_000

interface Call {
  method: 'GET' | 'POST'
  path: string
  jwt?: string
  json?: unknown
}

/** Sends one request and resolves to the body. @throws when it is not a success. */
type Send = (call: Call) => Promise<string>

function senderTo(port: number, agent: Agent): Send {
  return ({ method, path, jwt, json }) =>
    new Promise((resolve, reject) => {
      const payload = json === undefined ? undefined : JSON.stringify(json)
      const headers = {
        ...(jwt === undefined ? {} : { authorization: `Bearer ${jwt}` }),
        ...(payload === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) })
      }
      const sent = request({ host: '127.0.0.1', port, agent, method, path, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part
        })
        response.on('end', () => {
          if ((response.statusCode ?? 500) < 300) resolve(text)
          else reject(new Error(`${method} ${path} answered ${response.statusCode}: ${text}`))
        })
      })
      sent.on('error', reject)
      sent.end(payload)
    })
}

/** An API of its own; with limits that one address does not reach. */
async function startApi(ground: Ground): Promise<{ api: BenchProcess; port: number }> {
  const [port, httpPort, adminPort] = [await freePort(), await freePort(), await freePort()]
  const api = startProcess('api', '../api/main.js', [], {
    ...ground.childEnv,
    DATABASE_URL: ground.databaseUrl,
    REDIS_URL: ground.redisUrl,
    SECRETS_KEY: ground.secretsKey,
    DATA_DIR: ground.dir,
    TLS_MODE: 'proxy',
    API_PORT: String(port),
    HTTP_PORT: String(httpPort),
    API_ADMIN_PORT: String(adminPort),
    RATE_LIMIT_SCALE: '1000',
    PULSEGATE_PARENT_PIPE: '1'
  })
  await untilReady(api, adminPort)
  return { api, port }
}

/** People who sign in, and a monitor with a day's history. */
async function prepare(ground: Ground, send: Send): Promise<{ emails: string[]; read: Call }> {
  const emails = Array.from({ length: PEOPLE }, (_, place) => `bench${place}@example.com`)
  const jwts: string[] = []
  for (const email of emails) {
    const json = { organizationName: 'Bench', name: 'Bench', email, password: PASSWORD }
    jwts.push(JSON.parse(await send({ method: 'POST', path: '/v1/auth/signup', json })).jwt)
  }
  const [jwt = ''] = jwts
  const json = { name: 'bench', kind: 'heartbeat', intervalSeconds: 60 }
  const monitor = JSON.parse(await send({ method: 'POST', path: '/v1/monitors', jwt, json })) as MonitorAnswer
  const today = Math.floor(Date.now() / MS_PER_DAY)
  await createHeartbeatDays(ground.db, [today - 1, today])
  await ground.db.query(
    `insert into heartbeats (monitor_key, "timestamp", latency, received_at, source_id, organization_id, status)
     select m.key, now() - place * interval '15 seconds', place % 300, now(), m.id, m.organization_id, 0
     from monitors m, generate_series(0, $2::int - 1) as place where m.id = $1`,
    [monitor.id, Math.min(ROWS, Math.floor(MS_PER_DAY / 15_000))]
  )
  return { emails, read: { method: 'GET', path: `/api/heartbeats?monitorId=${monitor.id}&limit=100`, jwt } }
}

/**
 * Sends `perSecond` requests a second, whether or not the ones before are answered; each at any moment of its share of the
 * second, as strangers do. At even steps every sign-in would fall on the very moment of a read.
 */
async function drive(send: Send, perSecond: number, latencies: Latencies, next: () => Call): Promise<void> {
  const startedAt = performance.now()
  const total = (perSecond * PHASE_MS) / 1000
  const answers: Array<Promise<void>> = []
  for (let place = 0; place < total; place++) {
    const due = startedAt + ((place + Math.random()) * 1000) / perSecond
    const early = due - performance.now()
    if (early > 0) await sleep(early)
    answers.push(
      send(next()).then(() => {
        latencies.record(performance.now() - due)
      })
    )
  }
  await Promise.all(answers)
}

function quantilesOf(latencies: Latencies): Quantiles {
  return { p50: latencies.quantile(0.5), p99: latencies.quantile(0.99) }
}

/** CPU microseconds so far; `others`: of everything that is not the bench's. */
function readCpu(ground: Ground, child: BenchProcess): Spent & { others: number } {
  const { user, system } = process.cpuUsage()
  const [api, postgres, generator] = [cpuOf(child.pid), cpuOfFamily(ground.postgresPid), user + system]
  return { api, postgres, generator, others: cpuOfMachine() - api - postgres - generator - cpuOf(ground.redisPid) }
}

/** What a phase runs on. */
interface Scene {
  ground: Ground
  api: BenchProcess
  send: Send
  read: Call
}

/** One phase; without `emails` nobody signs in. */
async function measurePhase({ ground, api, send, read }: Scene, emails: readonly string[]) {
  const [reads, logins] = [createLatencies(), createLatencies()]
  let turn = 0
  const logIn = (): Call => {
    const email = emails[turn++ % emails.length] ?? ''
    return { method: 'POST', path: '/v1/auth/login', json: { email, password: PASSWORD } }
  }
  const before = readCpu(ground, api)
  const startedAt = performance.now()
  await Promise.all([
    drive(send, READS_PER_SECOND, reads, () => read),
    ...(emails.length === 0 ? [] : [drive(send, LOGINS_PER_SECOND, logins, logIn)])
  ])
  const after = readCpu(ground, api)
  const microseconds = (performance.now() - startedAt) * 1000
  const cores = (what: keyof typeof after) => Math.max(0, (after[what] - before[what]) / microseconds)
  return {
    reads: quantilesOf(reads),
    logins: quantilesOf(logins),
    cpu: { api: cores('api'), postgres: cores('postgres'), generator: cores('generator') },
    others: cores('others')
  }
}

/** History at a fixed rate, in turn alone and beside 50 logins a second; `runs` rounds of both. */
export async function measureLogins(ground: Ground, runs: number): Promise<LoginRound[]> {
  const { api, port } = await startApi(ground)
  const agent = new Agent({ keepAlive: true, maxSockets: 100 })
  const send = senderTo(port, agent)
  try {
    const { emails, read } = await prepare(ground, send)
    // Code is compiled and connections are open before anything counts.
    const scene: Scene = { ground, api, send, read }
    await measurePhase(scene, emails)
    const rounds: LoginRound[] = []
    for (let run = 0; run < runs; run++) {
      const alone = await measurePhase(scene, [])
      const beside = await measurePhase(scene, emails)
      rounds.push({
        alone: alone.reads,
        beside: beside.reads,
        logins: beside.logins,
        cpu: beside.cpu,
        others: Math.max(alone.others, beside.others)
      })
    }
    return rounds
  } finally {
    agent.destroy()
    await api.stop()
  }
}
