import { shardName } from '../shared/queue.ts'

/** Named as the product's, so that the bench counts the jobs of both alike. */
export const QUEUE = shardName(0)

/** One job of the bare pipeline: the heartbeats of a batch, column by column. */
export interface BareJob {
  /** Monitor keys. */
  m: number[]
  /** Timestamps, epoch milliseconds. */
  t: number[]
  /** Statuses. */
  s: number[]
  /** Latencies in milliseconds. */
  l: number[]
}

/** What both bare processes are told, as JSON in their only argument. */
export interface BareSettings {
  redisUrl: string
  databaseUrl: string
  prefix: string
  /** File with `Sender[]`; a monitor's key is its place in the list of all monitors. */
  fleetFile: string
}

export function readSettings(): BareSettings {
  return JSON.parse(process.argv[2] ?? '{}') as BareSettings
}

/** Tells the parent that the process serves, and from then on ends when the parent closes the pipe. */
export function announceReady(port: number): void {
  process.stdin.on('end', () => process.exit(0)).resume()
  process.stdout.write(`${JSON.stringify({ event: 'ready', port })}\n`)
}
