import type { Log } from '../shared/log.ts'
import type { RedisClient } from '../shared/redis.ts'

/**
 * Remembers in Redis how far each stream was acknowledged, so that a reconnecting agent sends less again. A hint only:
 * losing it costs a resend, never a heartbeat; so it is written at most once a second for each stream, and faults are said
 * but not acted on.
 */
export interface Resume {
  /** The last acknowledged seq of this stream, 0 when nothing is remembered. */
  recall(sourceId: string, stream: string): Promise<number>
  /** To be written with the next second's batch. */
  note(sourceId: string, stream: string, acked: number): void
  stop(): Promise<void>
}

const WRITE_MS = 1000
const REMEMBER_SECONDS = 86_400

interface Options {
  client: RedisClient
  prefix: string
  log: Log
}

export function createResume({ client, prefix, log }: Options): Resume {
  let noted = new Map<string, number>()
  const keyOf = (sourceId: string, stream: string) => `${prefix}:acked:${sourceId}:${stream}`

  async function write(): Promise<void> {
    if (noted.size === 0) return
    const batch = noted
    noted = new Map()
    // One by one and not as a pipeline, which a Redis Cluster refuses when its keys lie on several nodes. They leave in the
    // same packets all the same.
    const writes = [...batch].map(([key, acked]) => client.set(key, String(acked), 'EX', REMEMBER_SECONDS))
    const faults = (await Promise.allSettled(writes)).filter((write) => write.status === 'rejected')
    if (faults.length === 0) return
    log.warn(
      { err: faults[0]?.reason, streams: faults.length },
      'acknowledged positions were not remembered; agents may resend'
    )
  }

  const timer = setInterval(() => void write(), WRITE_MS)
  return {
    recall: async (sourceId, stream) => Number((await client.get(keyOf(sourceId, stream))) ?? 0),
    note: (sourceId, stream, acked) => {
      noted.set(keyOf(sourceId, stream), acked)
    },
    stop: async () => {
      clearInterval(timer)
      await write()
    }
  }
}
