import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { HeartbeatStatus } from '../../shared/protocol/heartbeat.ts'
import { connectAgent, type FakeAgent } from './fake-agent.ts'
import { identityOf, type Journal, type SentHeartbeat } from './journal.ts'
import type { TestAgent } from './tenant.ts'
import { waitFor } from './wait-for.ts'

const FRAME_EVERY_MS = 20
const BEATS_PER_MONITOR = 5
/** The gateway allows 64. */
const WINDOW = 60
/** Frames kept while the gateway is away; then no more are made. */
const OUTBOX_FRAMES = 400
const BACK_OFF_MS = 100
const STATUSES: readonly HeartbeatStatus[] = ['up', 'down', 'degraded']

interface Frame {
  seq: number
  heartbeats: SentHeartbeat[]
}

interface Options {
  /** Where the gateway is now; asked before each connection. */
  url: () => string
  agent: TestAgent
  monitorIds: readonly string[]
  journal: Journal
}

export interface StreamingAgent {
  /** Is it welcomed now? */
  connected(): boolean
  /** The close codes of its connections so far. */
  readonly closeCodes: readonly number[]
  /** Makes no more heartbeats, and resolves when all that it made are acknowledged and its socket is closed. */
  finish(timeoutMs?: number): Promise<void>
  /** Ends at once. */
  abort(): Promise<void>
}

/** Makes frames whose heartbeats all differ, and that change the state of monitors now and then. */
function createMaker({ agent, monitorIds, journal }: Options): () => Frame {
  const statuses = new Map<string, HeartbeatStatus>()
  let seq = 0
  let timestamp = 0
  let latency = 0
  return () => {
    const heartbeats: SentHeartbeat[] = []
    for (let beat = 0; beat < BEATS_PER_MONITOR; beat++) {
      timestamp = Math.max(timestamp + 1, Date.now())
      for (const monitorId of monitorIds) {
        if (Math.random() < 0.02) statuses.set(monitorId, STATUSES[Math.floor(Math.random() * 3)] as HeartbeatStatus)
        const status = statuses.get(monitorId) ?? 'up'
        const one = { monitorId, sourceId: agent.id, timestamp, status, latency: latency++, acked: false }
        heartbeats.push(one)
        journal.sent.set(identityOf(one), one)
      }
    }
    return { seq: ++seq, heartbeats }
  }
}

function toText({ seq, heartbeats }: Frame): string {
  const items = heartbeats.map(({ monitorId, status, latency, timestamp }) => ({
    monitorId,
    status,
    latency,
    timestamp: new Date(timestamp).toISOString()
  }))
  return JSON.stringify({ type: 'heartbeats', seq, sentAt: new Date().toISOString(), items })
}

/** Frames made and not yet acknowledged, and the part of them that the present connection has sent. */
function createOutbox(journal: Journal) {
  const frames: Frame[] = []
  let acked = 0
  return {
    frames,
    first: () => acked + 1,
    acknowledge(seq: number, highestSent: number) {
      if (seq > highestSent) journal.broken.push(`${seq} was acknowledged, but only ${highestSent} sent`)
      while (frames[0] !== undefined && frames[0].seq <= seq) {
        for (const heartbeat of frames[0].heartbeats) heartbeat.acked = true
        journal.acked += frames[0].heartbeats.length
        frames.shift()
      }
      acked = Math.max(acked, seq)
    }
  }
}

/** What a connection must not have seen, now that it is over. */
function lookBack({ frames }: FakeAgent, code: number, journal: Journal): void {
  if (code >= 4000 || code < 1001) journal.broken.push(`a socket was closed with ${code}`)
  for (const frame of frames) if (frame.type === 'reject') journal.broken.push(JSON.stringify(frame))
}

/** Streams heartbeats without a pause, comes back after every end, and sends again what was not acknowledged. */
export function startStreamingAgent(options: Options): StreamingAgent {
  const { journal, agent } = options
  const make = createMaker(options)
  const outbox = createOutbox(journal)
  const stream = randomUUID()
  const closeCodes: number[] = []
  const stopping = new AbortController()
  let highestSent = 0
  let socket: FakeAgent | null = null
  let nextToSend = 1

  function flush(): void {
    for (const frame of outbox.frames.slice(0, WINDOW)) {
      if (socket === null || frame.seq < nextToSend) continue
      highestSent = Math.max(highestSent, frame.seq)
      nextToSend = frame.seq + 1
      socket.sendRaw(toText(frame))
    }
  }

  async function converse(open: FakeAgent): Promise<void> {
    const { acked } = await open.hello({ stream, first: outbox.first() })
    outbox.acknowledge(acked, highestSent)
    nextToSend = outbox.first()
    socket = open
    for (;;) {
      flush()
      outbox.acknowledge((await open.next('ack', 60_000)).seq, highestSent)
    }
  }

  async function once(): Promise<void> {
    const open = await connectAgent({ url: options.url(), apiKey: agent.apiKey })
    const abort = () => open.terminate()
    stopping.signal.addEventListener('abort', abort)
    // It ends with the connection; how that ended is told by the close code.
    await converse(open).catch(() => open.terminate())
    socket = null
    stopping.signal.removeEventListener('abort', abort)
    const { code } = await open.closed
    closeCodes.push(code)
    lookBack(open, code, journal)
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      // Refused or unreachable: what a killed gateway looks like.
      await once().catch(() => undefined)
      await sleep(BACK_OFF_MS * (0.5 + Math.random()))
    }
  }

  const running = run()
  const making = setInterval(() => {
    if (outbox.frames.length < OUTBOX_FRAMES) outbox.frames.push(make())
    flush()
  }, FRAME_EVERY_MS)
  const abort = () => {
    clearInterval(making)
    stopping.abort()
    return running
  }
  return {
    connected: () => socket !== null,
    closeCodes,
    finish: async (timeoutMs = 20_000) => {
      clearInterval(making)
      await waitFor(() => outbox.frames.length === 0, { what: 'everything sent is acknowledged', timeoutMs })
      await abort()
    },
    abort
  }
}
