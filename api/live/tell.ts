import { appendLive, isListened, type LiveEvent } from '../../shared/live.ts'
import type { Parts } from '../parts.ts'

/** Tells people who watch what was committed. It stands even when that fails; then their streams have broken as well. */
export async function tellLive(
  { redis: { client }, redisPrefix: prefix, clock, log }: Parts,
  organizationId: string,
  events: readonly LiveEvent[]
): Promise<void> {
  if (events.length === 0) return
  try {
    if (await isListened(client, prefix, organizationId, clock())) {
      await appendLive(client, prefix, organizationId, events, clock())
    }
  } catch (error) {
    log.warn({ err: error }, 'what happened is not told to who watches')
  }
}
