import { Resolver } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import { v7 as uuidv7 } from 'uuid'
import { createAfterwards } from '../../api/afterwards.ts'
import { createMail } from '../../api/mail/mail.ts'
import { type ApiOptions as ServerOptions, startApi } from '../../api/server.ts'
import { createPasswords } from '../../api/sign-in/password.ts'
import { createSigningKeys } from '../../api/sign-in/signing-keys.ts'
import { createBackOff } from '../../shared/back-off.ts'
import { loadOrCreateCertificate } from '../../shared/certificates.ts'
import { openCounts } from '../../shared/counts.ts'
import { connectDb } from '../../shared/db.ts'
import { createCallers } from '../../shared/identity/callers.ts'
import { createKeyUse } from '../../shared/identity/key-use.ts'
import { createDoor } from '../../shared/ingest/accept.ts'
import { announce } from '../../shared/instances.ts'
import { createMetrics, type Metrics } from '../../shared/metrics.ts'
import { createSharedLimit } from '../../shared/rate-limit.ts'
import { createAddressGuard } from '../../shared/webhooks/address-guard.ts'
import { dataDirFor } from './data-dir.ts'
import type { TearsDown } from './database.ts'
import type { Stores } from './ingest.ts'

export interface Answer {
  status: number
  headers: Headers
  /** The parsed body of a JSON type, else the text. */
  body: unknown
}

export interface CallOptions {
  /** A JWT or an API key, sent as a bearer token. */
  as?: string
  /** Sent as JSON. */
  json?: unknown
  /** Sent as it is; set its type by `headers`. */
  body?: string
  headers?: Record<string, string>
}

export interface TestApi {
  url: string
  /** The CA of an API that was started with `tls`, in PEM. */
  ca: Buffer | undefined
  port: number
  /** Port of the plain HTTP that only redirects. */
  httpPort: number
  /** What the API takes its own address to be, as in `pushUrl`. */
  apiUrl: string
  /** Sends one request; redirects are not followed. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  metrics: Metrics
  stop(): Promise<void>
}

type Parts = ServerOptions['parts']
const NO_SSO: Parts['sso'] = { entra: null, google: null }

interface ApiOptions {
  /** Where it listens; absent: any free port. */
  port?: number
  /** TLS by a generated certificate; else plain, as behind a proxy that ends TLS. */
  tls?: boolean
  addresses?: ServerOptions['addresses']
  /** Failed sign-ins allowed, per account and per address. */
  signInPoints?: { account: number; address: number }
  /** Multiplies the limits of requests. */
  rateLimitScale?: number
  clock?: () => number
  /** Milliseconds that the test may move on. */
  monotonic?: () => number
  /** Identity providers; absent: none. */
  sso?: Parts['sso']
  /** Where proofs of domains are looked up. */
  dns?: Parts['dns']
  /** Where mail is sent to; absent: none is configured. */
  smtpUrl?: string
  /** Private networks that webhooks may reach; absent: this machine. */
  webhookAllow?: string[]
}

interface Target {
  port: number
  ca: Buffer | undefined
}

function send({ port, ca }: Target, method: string, path: string, options: CallOptions): Promise<Answer> {
  const { as, json, body, headers } = options
  const payload = json === undefined ? body : JSON.stringify(json)
  const sent = {
    ...(payload === undefined ? {} : { 'content-length': Buffer.byteLength(payload) }),
    ...(as === undefined ? {} : { authorization: `Bearer ${as}` }),
    ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers
  }
  const target = { host: 'localhost', port, method, path, headers: sent, agent: false as const }
  return new Promise((resolve, reject) => {
    const request = ca === undefined ? requestPlain(target) : requestSecure({ ...target, ca })
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.on('error', reject)
      response.on('end', () => {
        const given = Object.entries(response.headersDistinct)
        const received = new Headers(
          given.flatMap(([name, values]) => (values ?? []).map((value) => [name, value] as [string, string]))
        )
        const isJson = /[/+]json\b/.test(received.get('content-type') ?? '') && text !== ''
        resolve({ status: response.statusCode ?? 0, headers: received, body: isJson ? JSON.parse(text) : text })
      })
    })
    request.end(payload)
  })
}

/** What the API is made of, and what ends it. */
function openParts(stores: Stores, options: ApiOptions): { parts: ServerOptions['parts']; stop(): Promise<void> } {
  const { signInPoints = { account: 5, address: 30 }, rateLimitScale = 1, clock = Date.now, smtpUrl } = options
  const { queue, log, prefix, redis, secrets, changes } = stores
  const metrics = createMetrics()
  const db = connectDb({ url: stores.databaseUrl, role: 'pulsegate_api', log, max: 5 })
  const callers = createCallers({ db, secrets, changes })
  const keyUse = createKeyUse({ db, log, clock })
  const door = createDoor({ queue, way: 'http', metrics, log, clock })
  const signingKeys = createSigningKeys({ db, secrets, clock, log })
  const passwords = createPasswords(metrics)
  const afterwards = createAfterwards(log)
  const mail = createMail({ smtpUrl, from: 'Pulsegate <pulsegate@example.com>', log })
  const { client } = redis
  const counts = openCounts({ client, prefix, log, clock })
  const parts = {
    db,
    readDb: db,
    redis,
    redisPrefix: prefix,
    secrets,
    callers,
    keyUse,
    door,
    signInLimits: {
      account: createBackOff({ client, prefix, name: 'account', free: signInPoints.account, clock }),
      network: createSharedLimit(client, prefix, { name: 'network', points: signInPoints.address, seconds: 900 })
    },
    counts,
    rateLimitScale,
    signingKeys,
    passwords,
    afterwards,
    mail,
    webhookGuard: createAddressGuard(options.webhookAllow ?? ['127.0.0.0/8']),
    stopping: new AbortController(),
    sso: options.sso ?? NO_SSO,
    ssoProviders: { entra: Boolean(options.sso?.entra), google: Boolean(options.sso?.google) },
    dns: options.dns ?? new Resolver(),
    metrics,
    log,
    clock,
    monotonic: options.monotonic ?? (() => performance.now()),
    defaultPlan: 'self-hosted'
  }
  const stop = async () => {
    await afterwards.stop()
    await mail.stop()
    await passwords.stop()
    await signingKeys.stop()
    await door.stop()
    callers.stop()
    await keyUse.stop()
    await counts.stop()
    await db.stop()
  }
  return { parts, stop }
}

/** The API in this process, on free ports; ended with the test. */
export async function apiFor(t: TearsDown, stores: Stores, options: ApiOptions = {}): Promise<TestApi> {
  const { tls = false, clock = Date.now, addresses } = options
  const opened = openParts(stores, options)
  const { door } = opened.parts
  const oldestUnqueued = () => door.oldestUnqueued()
  const client = stores.redis.client
  const instance = announce({ client, prefix: stores.prefix, kind: 'api', id: uuidv7(), oldestUnqueued, clock })
  const certificate = tls ? await loadOrCreateCertificate(await dataDirFor(t), []) : null
  const api = await startApi({
    parts: opened.parts,
    apiPort: options.port ?? 0,
    httpPort: 0,
    tls: certificate,
    ...(addresses === undefined ? {} : { addresses })
  })
  const stopAll = async () => {
    await api.stop()
    await opened.stop()
    await instance.stop()
  }
  let stopping: Promise<void> | undefined
  const stop = () => {
    stopping ??= stopAll()
    return stopping
  }
  t.teardown(stop)
  const port = api.httpsPort
  const ca = certificate === null ? undefined : readFileSync(certificate.caFile)
  return {
    url: `${tls ? 'https' : 'http'}://localhost:${port}`,
    ca,
    port,
    httpPort: api.httpPort,
    apiUrl: api.addresses.apiUrl,
    call: (method, path, call = {}) => send({ port, ca }, method, path, call),
    metrics: opened.parts.metrics,
    stop
  }
}
