import { type AgentFrame, agentFrameSchema, type HeartbeatsFrame } from '../shared/protocol/frames.ts'

/**
 * The fast twin of `heartbeatsSchema` for the hot path: only the envelope, as the schema does; held equal to it by
 * `test/protocol/read-frame.test.ts`.
 */
function isHeartbeats(value: unknown): value is HeartbeatsFrame {
  if (typeof value !== 'object' || value === null) return false
  // Each field is checked here.
  const { type, seq, sentAt, items } = value as Record<string, unknown>
  if (type !== 'heartbeats' || !Array.isArray(items)) return false
  if (typeof seq !== 'number' || !Number.isSafeInteger(seq) || seq < 1) return false
  return sentAt === undefined || typeof sentAt === 'string'
}

/** The frame in a text message, or null when it is not JSON or its envelope is bad. Items are not looked at. */
export function readFrame(text: string): AgentFrame | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (isHeartbeats(value)) return value
  const result = agentFrameSchema.safeParse(value)
  return result.success ? result.data : null
}
