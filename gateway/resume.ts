import type { Log } from '../shared/log.ts'
import type { RedisClient } from '../shared/redis.ts'
import type { Session } from './session.ts'

/**
 * Remembers in Redis how far each stream was acknowledged, so that a reconnecting agent sends less again. A hint only:
 * losing it costs a resend, never a heartbeat; so it is written every few seconds for each stream and when its socket
 * closes, and faults are said but not acted on.
 */
export interface Resume {
  /** The last acknowledged seq of this stream, 0 when nothing is remembered. */
  recall(sourceId: string, stream: string): Promise<number>
  /** The session acknowledged more. */
  note(session: Session): void
  /** The session is over: what it acknowledged is written at once. */
  finish(session: Session): void
  stop(): Promise<void>
}

/**
 * Every tick a slice of those that wait is written: all at once they would stand before the heartbeats on the way to Redis.
 */
const TICK_MS = 50
const TICKS_TO_WRITE_ALL = 60
const REMEMBER_SECONDS = 86_400

interface Options {
  client: RedisClient
  prefix: string
  log: Log
}

export function createResume({ client, prefix, log }: Options): Resume {
  const waiting = new Set<Session>()
  const keyOf = (sourceId: string, stream: string) => `${prefix}:acked:${sourceId}:${stream}`

  async function write(sessions: readonly Session[]): Promise<void> {
    // One by one and not as a pipeline, which a Redis Cluster refuses when its keys lie on several nodes.
    const writes = sessions.map((session) => {
      waiting.delete(session)
      return client.set(keyOf(session.caller.sourceId, session.stream), String(session.acked), 'EX', REMEMBER_SECONDS)
    })
    const faults = (await Promise.allSettled(writes)).filter((result) => result.status === 'rejected')
    if (faults.length === 0) return
    log.warn(
      { err: faults[0]?.reason, streams: faults.length },
      'acknowledged positions were not remembered; agents may resend'
    )
  }

  function writeSlice(): void {
    const slice: Session[] = []
    const count = Math.ceil(waiting.size / TICKS_TO_WRITE_ALL)
    for (const session of waiting) if (slice.push(session) >= count) break
    void write(slice)
  }

  const timer = setInterval(writeSlice, TICK_MS)
  return {
    recall: async (sourceId, stream) => Number((await client.get(keyOf(sourceId, stream))) ?? 0),
    note: (session) => {
      waiting.add(session)
    },
    finish: (session) => {
      if (waiting.has(session)) void write([session])
    },
    stop: async () => {
      clearInterval(timer)
      await write([...waiting])
    }
  }
}
