import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { startRedis } from '../../local/redis.ts'
import { createLog } from '../../shared/log.ts'
import { connectRedis, type RedisClient } from '../../shared/redis.ts'
import { dataDirFor } from './data-dir.ts'
import type { TearsDown } from './database.ts'
import { waitFor } from './wait-for.ts'

const quiet = { info: () => undefined, warn: () => undefined }
const PASSWORD = 'both-have-the-same'
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

/** A Redis Cluster of two masters, each with half of the slots. `nodes` are connections to them one by one. */
export async function clusterFor(t: TearsDown): Promise<{ url: string; nodes: RedisClient[] }> {
  const reserved = [await reservePort(), await reservePort()]
  const ports = reserved.map(({ port }) => port)
  await Promise.all(reserved.map(({ release }) => release()))
  const nodes: RedisClient[] = []
  for (const [i, port] of ports.entries()) {
    const dataDir = await dataDirFor(t)
    const redis = await startRedis({ dataDir, log: quiet, port }, [`requirepass ${PASSWORD}`, 'cluster-enabled yes'])
    t.teardown(() => redis.stop())
    const url = `redis://:${PASSWORD}@127.0.0.1:${port}`
    const { client, stop } = await connectRedis({ url, log: createLog('test', 'fatal'), whenAway: 'wait' })
    t.teardown(stop)
    const half = Array.from({ length: SLOTS / 2 }, (_, slot) => slot + (i * SLOTS) / 2)
    await client.call('CLUSTER', 'ADDSLOTS', ...half)
    nodes.push(client)
  }
  await nodes[0]?.call('CLUSTER', 'MEET', '127.0.0.1', String(ports[1]))
  for (const node of nodes) {
    await waitFor(async () => String(await node.call('CLUSTER', 'INFO')).includes('cluster_state:ok'), {
      what: 'the cluster is whole',
      timeoutMs: 20_000
    })
  }
  return { url: `redis+cluster://:${PASSWORD}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}`, nodes }
}
