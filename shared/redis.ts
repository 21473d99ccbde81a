import { Cluster, type ClusterNode, Redis } from 'ioredis'
import { StartupError } from './env.ts'
import type { Log } from './log.ts'

export type RedisClient = Redis | Cluster

interface Options {
  url: string
  log: Log
  /**
   * `fail`: commands are refused at once while Redis is away (whoever waits must be told).
   * `wait`: commands wait for it (background work and subscriptions).
   */
  whenAway: 'fail' | 'wait'
}

export interface RedisConnection {
  client: RedisClient
  ping(): Promise<void>
  stop(): Promise<void>
}

/** No answer to a command for this long is told to whoever waits. */
const COMMAND_TIMEOUT_MS = 5000
/**
 * When nothing at all came for this long although an answer is due, the other side is gone, even if the connection looks
 * open (half-open TCP): it is dropped and made anew. Connections that wait also block for a job, up to 10 s in BullMQ.
 */
const SILENCE_MS = { fail: 5000, wait: 12_000 } as const
/** An answer is due at least this often: a subscriber, which only listens, would never notice. */
const PING_MS = 3000
/** A peer that does not answer our good-bye is not waited for. */
const DISCONNECT_MS = 500

function retryDelay(times: number): number {
  return Math.min(50 * 2 ** Math.min(times, 6), 2000)
}

function optionsFor(whenAway: Options['whenAway']) {
  const socketTimeout = SILENCE_MS[whenAway]
  return whenAway === 'fail'
    ? { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: COMMAND_TIMEOUT_MS, socketTimeout }
    : { enableOfflineQueue: true, maxRetriesPerRequest: null, socketTimeout }
}

function nodesOf(list: string, standardPort: number): Array<{ host: string; port: number }> {
  return list.split(',').map((entry) => {
    const url = new URL(`redis://${entry}`)
    return { host: url.hostname, port: url.port === '' ? standardPort : Number(url.port) }
  })
}

/** Splits `redis+cluster://user:pw@a:1,b:2` and `redis+sentinel://a,b/name`, which the URL class cannot read. */
function splitAddress(url: string): { nodes: string; path: string; username?: string; password?: string } {
  const [, credentials, nodes = '', path = ''] = /^[a-z+]+:\/\/(?:([^@]*)@)?([^/]*)(?:\/(.*))?$/.exec(url) ?? []
  const [username, password] = (credentials ?? '').split(':', 2).map(decodeURIComponent)
  return { nodes, path, ...(username ? { username } : {}), ...(password ? { password } : {}) }
}

function open(url: string, whenAway: Options['whenAway']): RedisClient {
  const shared = {
    ...optionsFor(whenAway),
    retryStrategy: retryDelay,
    connectTimeout: 5000,
    disconnectTimeout: DISCONNECT_MS
  }
  if (url.startsWith('redis+cluster://')) {
    const { nodes, username, password } = splitAddress(url)
    const startup: ClusterNode[] = nodesOf(nodes, 6379)
    return new Cluster(startup, {
      enableOfflineQueue: shared.enableOfflineQueue,
      redisOptions: { ...shared, ...(username ? { username } : {}), ...(password ? { password } : {}) }
    })
  }
  if (url.startsWith('redis+sentinel://')) {
    const { nodes, path, username, password } = splitAddress(url)
    return new Redis({
      ...shared,
      sentinels: nodesOf(nodes, 26_379),
      sentinelCommandTimeout: COMMAND_TIMEOUT_MS,
      name: path,
      ...(username ? { username } : {}),
      ...(password ? { password } : {})
    })
  }
  return new Redis(url, shared)
}

/** Asks every node for a sign of life; that none comes is the business of `socketTimeout`. */
function startPinging(client: RedisClient): NodeJS.Timeout {
  const asked = new Set<Redis>()
  const ask = (node: Redis) => {
    if (node.status !== 'ready' || asked.has(node)) return
    asked.add(node)
    const answered = () => asked.delete(node)
    node.ping().then(answered, answered)
  }
  return setInterval(() => {
    for (const node of client instanceof Cluster ? client.nodes() : [client]) ask(node)
  }, PING_MS)
}

/** Opens a connection and waits until it is first ready. @throws StartupError when Redis stays away for 10 s. */
export async function connectRedis({ url, log, whenAway }: Options): Promise<RedisConnection> {
  const client = open(url, whenAway)
  let lastFault = 'no answer'
  client.on('error', (error: Error & { lastNodeError?: Error }) => {
    // Of a cluster: why the last of its nodes failed.
    const fault = error.lastNodeError ?? error
    if (fault.message !== lastFault) log.warn({ err: fault }, 'Redis connection')
    lastFault = fault.message
  })
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      client.disconnect()
      reject(new StartupError(`REDIS_URL: Redis cannot be reached (${lastFault}).`))
    }, 10_000)
    client.once('ready', () => {
      clearTimeout(timer)
      resolve()
    })
  })
  client.on('ready', () => {
    lastFault = ''
  })
  const pinging = startPinging(client)
  return {
    client,
    ping: async () => {
      // Or it would wait among the other commands, one more for every question.
      if (client.status !== 'ready') throw new Error('Redis is away')
      await client.ping()
    },
    stop: async () => {
      clearInterval(pinging)
      client.disconnect()
    }
  }
}

const DURABLE: ReadonlyArray<readonly [setting: string, wanted: string, why: string]> = [
  ['appendonly', 'yes', 'without the append-only file a restart loses acknowledged heartbeats'],
  ['appendfsync', 'always', 'otherwise a power cut loses acknowledged heartbeats'],
  ['maxmemory-policy', 'noeviction', 'otherwise Redis may throw queued heartbeats away']
]

function addressOf({ options }: Redis): string {
  return `${options.host}:${options.port}`
}

/** What is wrong with this node, or null when CONFIG is forbidden there. */
async function faultsOf(node: Redis, log: Log): Promise<string[] | null> {
  const faults: string[] = []
  for (const [setting, wanted, why] of DURABLE) {
    let value: unknown
    try {
      value = ((await node.call('CONFIG', 'GET', setting)) as unknown[] | undefined)?.[1]
    } catch (error) {
      log.warn({ err: error }, 'CONFIG is not readable, so the durability of Redis is not known')
      return null
    }
    if (value !== wanted) faults.push(`${setting} is "${value}" but must be "${wanted}": ${why}`)
  }
  return faults
}

/**
 * Refuses a Redis that could lose what it confirmed, naming the setting, unless `REDIS_DURABILITY=accept`; of a cluster
 * every master is asked. Where CONFIG is forbidden (managed services) it can only warn.
 */
export async function requireDurability(client: RedisClient, policy: 'require' | 'accept', log: Log): Promise<void> {
  const masters = client instanceof Cluster ? client.nodes('master') : [client]
  const faults: string[] = []
  for (const node of masters) {
    const found = await faultsOf(node, log)
    if (found === null) return
    for (const fault of found) faults.push(masters.length > 1 ? `${addressOf(node)}: ${fault}` : fault)
  }
  if (faults.length === 0) return
  const sentence = `REDIS_URL: this Redis is not durable. ${faults.join('; ')}. Set REDIS_DURABILITY=accept to go on all the same.`
  if (policy === 'require') throw new StartupError(sentence)
  log.warn(sentence)
}
