import type { IncomingMessage } from 'node:http'
import { MAX_PING_MS, PUSH_BODY_LIMIT, PUSH_MESSAGE_BYTES, type PushQuery } from '../../shared/contract/push.ts'
import type { Standing } from '../../shared/counts.ts'
import { AppError } from '../../shared/errors.ts'
import type { Caller } from '../../shared/identity/caller.ts'
import type { Log } from '../../shared/log.ts'
import { networkOf } from '../../shared/network.ts'
import { HEARTBEAT_STATUSES, type HeartbeatStatus, type RecordStatus } from '../../shared/protocol/heartbeat.ts'
import { findState } from '../../shared/store/monitors.ts'
import type { Handlers } from '../http/contract.ts'
import { createLimits, type Limits } from '../http/limits.ts'
import { rateLimitHeaders, requireQuota } from '../http/rate-limit-headers.ts'
import { readBytes } from '../http/read-body.ts'
import type { Parts } from '../parts.ts'

/** Tokens of ours have 32 characters; imported ones of Uptime Kuma may be shorter. */
const TOKEN = /^[\w-]{8,64}$/
const UNKNOWN = 'Monitor not found or not active.'
const BAD_PING = `Invalid ping value. Must be between 0 and ${MAX_PING_MS} ms.`
const NOT_DURABLE = 'The heartbeat could not be stored. Try again.'

interface Pushed {
  status: RecordStatus
  latency: number | null
  message?: string | undefined
  rid?: string | undefined
}

type Value = PushQuery['msg']

/** Longest id of a run. */
const MAX_RID = 100

function lastOf(value: Value): string | undefined {
  return Array.isArray(value) ? value.at(-1) : value
}

/** Kuma's reading: the number that the text begins with; 0 and no number at all mean none. @throws AppError */
function readPing(value: Value): number | null {
  const ping = Number.parseFloat(String(value)) || null
  if (ping !== null && (ping < 0 || ping > MAX_PING_MS)) throw new AppError('bad_request', { detail: BAD_PING })
  return ping
}

/** No id is the same as an empty one. */
function readRid(value: Value): string | undefined {
  const rid = storable(lastOf(value) ?? '').slice(0, MAX_RID)
  return rid === '' ? undefined : rid
}

/** PostgreSQL cannot store U+0000. */
function storable(text: string): string {
  return text.replaceAll('\u0000', '\uFFFD')
}

/** The first bytes of a text, never ending in half a character. */
function cut(text: string | Buffer): string {
  const bytes = Buffer.isBuffer(text) ? text : Buffer.from(text)
  if (bytes.length <= PUSH_MESSAGE_BYTES) return bytes.toString('utf8')
  let end = PUSH_MESSAGE_BYTES
  // Step back over the continuation bytes (10xxxxxx) of a character that does not fit whole.
  while (end > PUSH_MESSAGE_BYTES - 4 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

function isHeartbeatStatus(text: string): text is HeartbeatStatus {
  return (HEARTBEAT_STATUSES as readonly string[]).includes(text)
}

function statusOfSignal(signal: string): RecordStatus {
  const word = signal.toLowerCase()
  if (word === 'start' || word === 'log') return word
  if (word === 'fail') return 'down'
  if (/^\d{1,3}$/.test(word) && Number(word) <= 255) return Number(word) === 0 ? 'up' : 'down'
  throw new AppError('bad_request', {
    detail: 'The address may end in /fail, /start, /log or an exit code from 0 to 255.'
  })
}

function statusOfQuery(value: Value): RecordStatus {
  const status = (lastOf(value) || 'up').toLowerCase()
  if (isHeartbeatStatus(status)) return status
  throw new AppError('bad_request', { detail: 'status must be up, down or degraded.' })
}

async function readMessage(query: PushQuery, request: IncomingMessage): Promise<string | undefined> {
  const body = await readBytes(request, PUSH_BODY_LIMIT)
  const given = lastOf(query.msg)
  if (given) return storable(cut(given))
  return body.length === 0 ? undefined : storable(cut(body))
}

/** The state after this record as far as it is known now: the worker has not seen it yet. */
async function stateAfter({ db }: Parts, caller: Caller, status: RecordStatus) {
  if (status !== 'start' && status !== 'log') return { state: status }
  const monitorKey = caller.monitors.values().next().value
  if (monitorKey === undefined) return {}
  const state = await db.tenant(caller.organizationId, (tx) => findState(tx, caller.organizationId, monitorKey))
  return state === undefined ? {} : { state }
}

/** Only who asks for text and not for JSON. */
function wantsText(request: IncomingMessage): boolean {
  const accept = request.headers.accept ?? ''
  return /\btext\/plain\b/i.test(accept) && !/\bjson\b|\*\/\*/i.test(accept)
}

const OWN_HEADERS = { 'Access-Control-Allow-Origin': '*', 'Ping-Body-Limit': String(PUSH_MESSAGE_BYTES) }
const KUMA_HEADERS = { 'X-Frame-Options': 'SAMEORIGIN' }
function fault(msg: string): { ok: false; msg: string } {
  return { ok: false, msg }
}

/** Faults in the dialects' own shape; whatever was not foreseen means that nothing is durable. */
function toFault(error: unknown, log: Log) {
  if (error instanceof AppError) {
    const { code, message } = error
    if (code === 'bad_request') return { status: 400, body: fault(message) } as const
    if (code === 'not_found') return { status: 404, body: fault(UNKNOWN) } as const
    if (code === 'payload_too_large') return { status: 413, body: fault(message) } as const
    if (code === 'rate_limited') {
      const retry = { 'Retry-After': String(error.details.retryAfterSeconds) }
      return { status: 429, body: fault(message), headers: retry } as const
    }
  }
  log.warn({ err: error }, 'a push could not be stored')
  return { status: 503, body: fault(NOT_DURABLE), headers: { 'Retry-After': '5' } } as const
}

type Tally = ReturnType<typeof createTally>

/** Counts one push: its network before the token is looked up, then the push URL. Their refusals are in the dialect. */
function createTally(limits: Limits, address: string) {
  const standings: Standing[] = []
  const add = (standing: Standing): void => {
    standings.push(standing)
    requireQuota(standing)
  }
  return {
    countNetwork: () => add(limits.network.take(networkOf(address))),
    countPushUrl: (id: string) => add(limits.push.take(id)),
    headers: () => rateLimitHeaders(standings)
  }
}

function createRecorder({ callers, door }: Parts) {
  /** @throws AppError not_found, rate_limited, overloaded */
  return async (
    token: string,
    tally: Tally,
    read: () => Promise<Pushed> | Pushed
  ): Promise<{ caller: Caller; pushed: Pushed }> => {
    const caller = TOKEN.test(token) ? await callers.byPushToken(token) : null
    const monitorId = caller?.monitors.keys().next().value
    if (caller === null || caller.suspended || monitorId === undefined) throw new AppError('not_found')
    tally.countPushUrl(caller.sourceId)
    const pushed = await read()
    await door.record(caller, { monitorId, ...pushed })
    return { caller, pushed }
  }
}

export function createPushHandlers(parts: Parts): Pick<Handlers, 'push' | 'pushSignal' | 'pushKuma'> {
  const limits = createLimits(parts.counts, parts.rateLimitScale)
  const record = createRecorder(parts)

  async function ownDialect(
    call: { request: IncomingMessage; query: PushQuery; address: string; log: Log },
    token: string,
    readStatus: () => RecordStatus
  ) {
    const { request, query, address, log } = call
    const tally = createTally(limits, address)
    const headers = () => ({ ...OWN_HEADERS, ...tally.headers() })
    try {
      tally.countNetwork()
      const { caller, pushed } = await record(token, tally, async () => ({
        status: readStatus(),
        latency: readPing(query.ping),
        rid: readRid(query.rid),
        message: await readMessage(query, request)
      }))
      if (wantsText(request)) return { status: 200, text: 'OK', headers: headers() } as const
      const state = await stateAfter(parts, caller, pushed.status).catch((error: unknown) => {
        // The record is durable; only what is shown of the state is missing.
        log.warn({ err: error }, 'the state after a push could not be read')
        return {}
      })
      return { status: 200, body: { ok: true, ...state }, headers: headers() } as const
    } catch (error) {
      const answer = toFault(error, log)
      return { ...answer, headers: { ...headers(), ...answer.headers } }
    }
  }

  return {
    push: (call) => ownDialect(call, call.params.token, () => statusOfQuery(call.query.status)),
    pushSignal: (call) => ownDialect(call, call.params.token, () => statusOfSignal(call.params.signal)),

    // Byte for byte Uptime Kuma's: its order of checks, its words, 404 for every fault. What it answers
    // when it cannot store is 404 as well; a client that retries must be able to tell, so that one is 503 here, and 429
    // where a limit is reached.
    pushKuma: async ({ params, query, address, log }) => {
      const tally = createTally(limits, address)
      const headers = () => ({ ...KUMA_HEADERS, ...tally.headers() })
      try {
        tally.countNetwork()
        const latency = readPing(query.ping)
        const status = (query.status || 'up') === 'up' ? 'up' : 'down'
        const message = storable(cut(lastOf(query.msg) || 'OK'))
        await record(params.token, tally, () => ({ status, latency, message }))
        return { status: 200, body: { ok: true }, headers: headers() }
      } catch (error) {
        const { status, body, headers: more } = toFault(error, log)
        const answer = { body, headers: { ...headers(), ...more } }
        if (status === 503) return { status, ...answer }
        if (status === 429) return { status, ...answer }
        return { status: 404, ...answer }
      }
    }
  }
}
