import { type HeartbeatStatus, type ItemFault, MAX_MESSAGE_LENGTH } from './heartbeat.ts'
import { parseTimestamp } from './timestamp.ts'

/** Where `readHeartbeat` puts what it read; one object serves a whole process, so the hot path allocates nothing. */
export interface Reading {
  monitorId: string
  status: HeartbeatStatus
  latency: number
  /** Epoch milliseconds. */
  timestamp: number
  message: string | undefined
}

export function createReading(): Reading {
  return { monitorId: '', status: 'up', latency: 0, timestamp: 0, message: undefined }
}

function hasUnknownField(item: object): boolean {
  for (const name in item) {
    switch (name) {
      case 'monitorId':
      case 'status':
      case 'latency':
      case 'timestamp':
      case 'message':
        break
      default:
        return true
    }
  }
  return false
}

function isTooLong(message: string): boolean {
  // A code point is one or two code units, so only a text between the two bounds must be counted.
  if (message.length <= MAX_MESSAGE_LENGTH) return false
  return message.length > 2 * MAX_MESSAGE_LENGTH || [...message].length > MAX_MESSAGE_LENGTH
}

function readMessage(message: unknown, into: Reading): ItemFault | null {
  if (message === undefined) {
    into.message = undefined
    return null
  }
  if (typeof message !== 'string' || isTooLong(message) || message.includes('\u0000')) {
    return 'invalid_message'
  }
  into.message = message
  return null
}

/**
 * The fast twin of `heartbeatSchema` for values that came out of `JSON.parse`, without an allocation. The two are
 * held equal by `test/protocol/heartbeat-reader.test.ts`. Returns the first fault, or null with `into` filled.
 */
export function readHeartbeat(item: unknown, into: Reading): ItemFault | null {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return 'not_an_object'
  // The shape is checked field by field below.
  const { monitorId, status, latency, timestamp, message } = item as Record<string, unknown>
  if (monitorId === undefined || status === undefined || latency === undefined || timestamp === undefined) {
    return 'missing_field'
  }
  if (hasUnknownField(item)) return 'unknown_field'
  if (typeof monitorId !== 'string') return 'monitor_not_allowed'
  if (status !== 'up' && status !== 'down' && status !== 'degraded') return 'invalid_status'
  if (typeof latency !== 'number' || !(latency >= 0 && latency <= Number.MAX_VALUE)) return 'invalid_latency'
  const time = typeof timestamp === 'string' ? parseTimestamp(timestamp) : Number.NaN
  if (Number.isNaN(time)) return 'invalid_timestamp'
  into.monitorId = monitorId
  into.status = status
  into.latency = latency
  into.timestamp = time
  return readMessage(message, into)
}
