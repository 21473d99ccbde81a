/**
 * Why a socket ends, and what the client does next (design of the ingest protocol; meanings of the 44xx codes follow
 * GraphQL over WebSocket). A proxy or the transport itself may also end a socket with 1006 or 1001: treat both as `retry`.
 */
export type ClientAction =
  /** Reconnect with the usual back-off: full jitter, 1 s growing to 60 s. */
  | 'retry'
  /** Reconnect after a random 0–5 s. */
  | 'return-soon'
  /** Say one sentence, keep checking into the spool, try again hourly and on new configuration. */
  | 'hold'
  /** Another process holds this identity: as `retry`, and say so. */
  | 'contend'

export interface CloseCode {
  readonly code: number
  /** Machine word sent as the close reason. */
  readonly reason: string
  readonly meaning: string
  readonly action: ClientAction
}

export const CLOSE = {
  unsupportedData: { code: 1003, reason: 'binary', meaning: 'A binary frame; only text is spoken.', action: 'retry' },
  tooBig: {
    code: 1009,
    reason: 'too_big',
    meaning: 'A frame over 256 KiB or 500 items; split the batch.',
    action: 'retry'
  },
  restart: { code: 1012, reason: 'restart', meaning: 'The gateway restarts.', action: 'return-soon' },
  overloaded: {
    code: 1013,
    reason: 'overloaded',
    meaning:
      'Heartbeats could not be made durable in 5 s, or the peer reads too slowly. Nothing unacknowledged was promised.',
    action: 'retry'
  },
  badMessage: {
    code: 4400,
    reason: 'bad_message',
    meaning: 'Not JSON, a bad envelope, or a sequence number out of order.',
    action: 'retry'
  },
  keyRevoked: { code: 4401, reason: 'key_revoked', meaning: 'The API key was rotated or deleted.', action: 'hold' },
  suspended: {
    code: 4403,
    reason: 'suspended',
    meaning: 'The organization is suspended, or the key may no longer report.',
    action: 'hold'
  },
  silent: {
    code: 4408,
    reason: 'silent',
    meaning: 'No hello in 10 s, or neither a whole frame nor a pong for 60 s.',
    action: 'retry'
  },
  replaced: {
    code: 4409,
    reason: 'replaced',
    meaning: 'A newer socket of the same agent took over.',
    action: 'contend'
  },
  tooManyInFlight: {
    code: 4429,
    reason: 'too_many_in_flight',
    meaning: 'More unacknowledged frames than `maxInFlight`.',
    action: 'retry'
  }
} as const satisfies Record<string, CloseCode>

const BY_CODE: ReadonlyMap<number, CloseCode> = new Map(Object.values(CLOSE).map((entry) => [entry.code, entry]))

/** What the client does after a close with this code; unknown codes, 1000, 1001 and 1006 mean `retry`. */
export function actionAfterClose(code: number): ClientAction {
  return BY_CODE.get(code)?.action ?? 'retry'
}
