import { type IngestCall, readIngest } from '../shared/instances.ts'
import type { IngestQueue } from '../shared/queue.ts'
import type { RedisClient } from '../shared/redis.ts'

/** Redis is taken to be unreadable after this long. */
const PATIENCE_MS = 3000

function within<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer of Redis within ${PATIENCE_MS} ms`)), PATIENCE_MS)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

export interface Seen {
  /** Every heartbeat that was received before it is in the database; null while none can get in at all. */
  watermark: number | null
  ingest: IngestCall
}

/**
 * Up to where silence may be judged. The doors are asked before the queue: what has left a door by then is in the queue, or
 * already written. @throws when Redis cannot be read.
 */
export async function readWatermark(
  { client, prefix, queue }: { client: RedisClient; prefix: string; queue: IngestQueue },
  now: number
): Promise<Seen> {
  const ingest = await within(readIngest(client, prefix))
  if (ingest.stamps.length === 0) return { watermark: null, ingest }
  const oldest = await within(queue.oldest())
  return { watermark: Math.min(now, ...ingest.stamps, oldest ?? now), ingest }
}
