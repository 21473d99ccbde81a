import { actionAfterClose, CLOSE, type ClientAction } from '../shared/protocol/close-codes.ts'
import type { SessionEnd } from './session.ts'

/** What the end of a connection means for the next one. */
export interface Verdict {
  readonly action: ClientAction
  readonly atLeastMs: number
  /** Whole sentence for the person who reads the log. */
  readonly sentence: string
}

const NO_CLOSE_FRAME = 1006
const KEY_ADVICE = 'Mint a new key in the dashboard (Agents) and set SERVICE_API_KEY or apiKey'

function ofRefusal(status: number, detail: string | undefined, atLeastMs: number): Verdict {
  const said = detail === undefined ? '' : ` (${detail})`
  switch (status) {
    case 401:
      return { action: 'hold', atLeastMs, sentence: `The gateway refuses the API key${said}. ${KEY_ADVICE}.` }
    case 403:
      return { action: 'hold', atLeastMs, sentence: `The gateway does not let this agent in${said}.` }
    default:
      return { action: 'retry', atLeastMs, sentence: `The gateway answered HTTP ${status}${said}.` }
  }
}

function ofClose(code: number, reason: string, atLeastMs: number): Verdict {
  const action = actionAfterClose(code)
  if (code === CLOSE.keyRevoked.code) {
    return { action, atLeastMs, sentence: `The gateway has revoked the API key. ${KEY_ADVICE}.` }
  }
  if (code === CLOSE.replaced.code) {
    const sentence = 'Another process has connected with the identity of this agent. Stop one of them.'
    return { action, atLeastMs, sentence }
  }
  const known = Object.values(CLOSE).find((entry) => entry.code === code)
  const meaning = known?.meaning ?? (code === NO_CLOSE_FRAME ? 'The connection broke.' : reason || 'No reason given.')
  return { action, atLeastMs, sentence: `The gateway closed the connection (${code}). ${meaning}` }
}

/** Reads an end by the table of close codes; a `bye` counts where the close frame itself was lost. */
export function judgeEnd({ socket, bye, drained }: SessionEnd): Verdict {
  switch (socket.kind) {
    case 'failed':
      return { action: 'retry', atLeastMs: 0, sentence: `The gateway cannot be reached: ${socket.message}.` }
    case 'refused':
      return ofRefusal(socket.status, socket.detail, socket.retryAfterMs ?? 0)
    case 'closed': {
      const code = socket.code === NO_CLOSE_FRAME && bye !== null ? bye.code : socket.code
      const verdict = ofClose(code, socket.reason, bye?.retryAfterMs ?? 0)
      const moved = drained && verdict.action === 'retry'
      return moved ? { ...verdict, action: 'return-soon', sentence: 'The gateway restarts.' } : verdict
    }
  }
}
