import { readFileSync } from 'node:fs'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { loadUws, type WebSocket } from '../gateway/uws.ts'
import { announceReady, type BareJob, QUEUE, readSettings } from './bare-settings.ts'
import type { Sender } from './load-plan.ts'

/**
 * What the libraries alone can do: parse, gather 500 heartbeats or 5 ms, add one job, acknowledge. No authentication, no
 * validation, no limits. The product is measured against this process and `bare-worker.ts`, never against itself.
 */

const BATCH = 500
const FLUSH_MS = 5
const STATUS = { up: 1, down: 2, degraded: 3 } as const

interface Frame {
  type: string
  seq: number
  items: Array<{ monitorId: string; status: keyof typeof STATUS; latency: number; timestamp: string }>
}

interface Peer {
  open: boolean
  /** The batch that `place` belongs to. */
  batch: Batch | null
  /** Place of the socket in that batch. */
  place: number
}

interface Batch {
  job: BareJob
  sockets: WebSocket<Peer>[]
  peers: Peer[]
  /** The newest frame of each socket: acknowledgement is cumulative, one frame for a socket and batch. */
  seqs: number[]
}

function emptyBatch(): Batch {
  return { job: { m: [], t: [], s: [], l: [] }, sockets: [], peers: [], seqs: [] }
}

const settings = readSettings()
const queue = new Queue<BareJob>(QUEUE, { connection: new Redis(settings.redisUrl), prefix: settings.prefix })
const senders = JSON.parse(readFileSync(settings.fleetFile, 'utf8')) as Sender[]
const keys = new Map(senders.flatMap((sender) => sender.monitorIds).map((id, place) => [id, place + 1]))

let batch = emptyBatch()
let timer: NodeJS.Timeout | undefined

async function flush(): Promise<void> {
  clearTimeout(timer)
  timer = undefined
  const full = batch
  batch = emptyBatch()
  await queue.add('heartbeats', full.job, { removeOnComplete: true })
  for (let i = 0; i < full.sockets.length; i++) {
    if (full.peers[i]?.open) full.sockets[i]?.send(`{"type":"ack","seq":${full.seqs[i]}}`)
  }
}

function gather(socket: WebSocket<Peer>, peer: Peer, frame: Frame): void {
  const { job } = batch
  for (const item of frame.items) {
    job.m.push(keys.get(item.monitorId) ?? 0)
    job.t.push(Date.parse(item.timestamp))
    job.s.push(STATUS[item.status])
    job.l.push(item.latency)
  }
  if (peer.batch !== batch) {
    peer.batch = batch
    peer.place = batch.sockets.push(socket) - 1
    batch.peers.push(peer)
  }
  batch.seqs[peer.place] = frame.seq
  if (job.m.length >= BATCH) void flush()
  else timer ??= setTimeout(() => void flush(), FLUSH_MS)
}

const { module: uws } = loadUws()
uws
  .App()
  .ws<Peer>('/*', {
    maxPayloadLength: 262_144,
    maxBackpressure: 1_048_576,
    idleTimeout: 120,
    upgrade: (response, request, context) => {
      response.upgrade<Peer>(
        { open: true, batch: null, place: 0 },
        request.getHeader('sec-websocket-key'),
        request.getHeader('sec-websocket-protocol'),
        request.getHeader('sec-websocket-extensions'),
        context
      )
    },
    message: (socket, message) => {
      const frame = JSON.parse(Buffer.from(message).toString('utf8')) as Frame
      if (frame.type === 'heartbeats') gather(socket, socket.getUserData(), frame)
      else socket.send('{"type":"welcome","acked":0}')
    },
    close: (socket) => {
      socket.getUserData().open = false
    }
  })
  .listen('127.0.0.1', 0, (token) => {
    if (!token) throw new Error('no port is free')
    announceReady(uws.us_socket_local_port(token))
  })
