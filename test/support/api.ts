import { v7 as uuidv7 } from 'uuid'
import { startApi } from '../../api/server.ts'
import { connectDb } from '../../shared/db.ts'
import { createCallers } from '../../shared/identity/callers.ts'
import { createDoor } from '../../shared/ingest/accept.ts'
import { announce } from '../../shared/instances.ts'
import { createMetrics } from '../../shared/metrics.ts'
import { createLocalLimit } from '../../shared/rate-limit.ts'
import type { TlsFiles } from '../../shared/tls.ts'
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
  /** Of the API without TLS; with it use `port`. */
  url: string
  port: number
  /** Port of the plain HTTP that only redirects. */
  httpPort: number
  /** What the API takes its own address to be, as in `pushUrl`. */
  apiUrl: string
  /** Sends one request; redirects are not followed. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  stop(): Promise<void>
}

interface ApiOptions {
  /** Null: as behind a proxy that ends TLS. */
  tls?: TlsFiles | null
  /** Failed sign-ins allowed, per account and per address. */
  signInPoints?: { account: number; address: number }
  clock?: () => number
}

async function send(url: string, method: string, { as, json, body, headers }: CallOptions): Promise<Answer> {
  const payload = json === undefined ? body : JSON.stringify(json)
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: {
      ...(as === undefined ? {} : { authorization: `Bearer ${as}` }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers
    },
    ...(payload === undefined ? {} : { body: payload })
  })
  const text = await response.text()
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, body: isJson && text !== '' ? JSON.parse(text) : text }
}

/** The API in this process, on free ports; ended with the test. */
export async function apiFor(t: TearsDown, stores: Stores, options: ApiOptions = {}): Promise<TestApi> {
  const { tls = null, signInPoints = { account: 5, address: 30 }, clock = Date.now } = options
  const { queue, log, prefix, redis, secrets, changes } = stores
  const metrics = createMetrics()
  const db = connectDb({ url: stores.databaseUrl, role: 'pulsegate_api', log, max: 5 })
  const callers = createCallers({ db, secrets, changes, clock })
  const door = createDoor({ queue, way: 'http', metrics, log, clock })
  const { oldestUnqueued } = door
  const instance = announce({ client: redis.client, prefix, kind: 'api', id: uuidv7(), oldestUnqueued, clock })
  const limit = (name: string, points: number) => createLocalLimit({ name, points, seconds: 900 })
  const api = await startApi({
    parts: {
      db,
      readDb: db,
      redis,
      redisPrefix: prefix,
      secrets,
      callers,
      door,
      signInLimits: {
        account: limit('account', signInPoints.account),
        address: limit('address', signInPoints.address)
      },
      metrics,
      log,
      clock,
      defaultPlan: 'self-hosted'
    },
    apiPort: 0,
    httpPort: 0,
    tls
  })
  const stopAll = async () => {
    await api.stop()
    await door.stop()
    await instance.stop()
    callers.stop()
    await db.stop()
  }
  let stopping: Promise<void> | undefined
  const stop = () => {
    stopping ??= stopAll()
    return stopping
  }
  t.teardown(stop)
  const url = `${tls === null ? 'http' : 'https'}://localhost:${api.httpsPort}`
  return {
    url,
    port: api.httpsPort,
    httpPort: api.httpPort,
    apiUrl: api.addresses.apiUrl,
    call: (method, path, call = {}) => send(`${url}${path}`, method, call),
    stop
  }
}
