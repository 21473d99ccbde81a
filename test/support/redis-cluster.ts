import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { findRedis } from '../../local/find-redis.ts'
import { dataDirFor } from './data-dir.ts'
import type { TearsDown } from './database.ts'
import { waitFor } from './wait-for.ts'

const SLOTS = 16_384
/** Nodes speak with each other on a second port, so much above the first. */
const BUS = 10_000
const HIGHEST_PORT = 65_535

async function listenOn(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** A free port whose second one is free as well; kept until the function that comes with it is called. */
async function reservePort(): Promise<{ port: number; release(): Promise<unknown> }> {
  const first = await listenOn(0)
  const { port } = first.address() as AddressInfo
  const second = port + BUS > HIGHEST_PORT ? null : await listenOn(port + BUS).catch(() => null)
  const closeFirst = () => new Promise((resolve) => first.close(resolve))
  if (second !== null) {
    return { port, release: () => Promise.all([closeFirst(), new Promise((resolve) => second.close(resolve))]) }
  }
  // Closed after the next try, which would otherwise get the same one.
  try {
    return await reservePort()
  } finally {
    await closeFirst()
  }
}

async function startNode(t: TearsDown, dir: string, port: number): Promise<Redis> {
  await mkdir(dir)
  const { file, env } = findRedis(dir)
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction']
  const cluster = ['--cluster-enabled', 'yes']
  const own = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '']
  const child = spawn(file, [...own, ...durable, ...cluster], {
    env: { PATH: process.env.PATH, ...env },
    stdio: 'ignore'
  })
  const exited = once(child, 'exit')
  const node = new Redis(port, '127.0.0.1', { retryStrategy: () => 50, maxRetriesPerRequest: null })
  // Refused until it listens.
  node.on('error', () => undefined)
  t.teardown(async () => {
    node.disconnect()
    child.kill('SIGKILL')
    await exited
  })
  return node
}

/** A Redis Cluster of two masters, each with half of the slots. `nodes` are connections to them one by one. */
export async function clusterFor(t: TearsDown): Promise<{ url: string; nodes: Redis[] }> {
  const dataDir = await dataDirFor(t)
  const reserved = [await reservePort(), await reservePort()]
  const ports = reserved.map(({ port }) => port)
  await Promise.all(reserved.map(({ release }) => release()))
  const nodes: Redis[] = []
  for (const [i, port] of ports.entries()) {
    const node = await startNode(t, join(dataDir, String(i)), port)
    nodes.push(node)
    const half = Array.from({ length: SLOTS / 2 }, (_, slot) => slot + (i * SLOTS) / 2)
    await node.call('CLUSTER', 'ADDSLOTS', ...half)
  }
  await nodes[0]?.call('CLUSTER', 'MEET', '127.0.0.1', String(ports[1]))
  for (const node of nodes) {
    await waitFor(async () => String(await node.call('CLUSTER', 'INFO')).includes('cluster_state:ok'), {
      what: 'the cluster is whole',
      timeoutMs: 20_000
    })
  }
  return { url: `redis+cluster://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`, nodes }
}
