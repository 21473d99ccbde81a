import { test } from 'tap'
import { actionAfterClose, CLOSE, type ClientAction, type CloseCode } from '../../shared/protocol/close-codes.ts'

const entries: CloseCode[] = Object.values(CLOSE)

/** The table that agents in the field rely on. */
const ACTIONS: Record<number, ClientAction> = {
  1003: 'retry',
  1009: 'retry',
  1012: 'return-soon',
  1013: 'retry',
  4400: 'retry',
  4401: 'hold',
  4403: 'hold',
  4408: 'retry',
  4409: 'contend',
  4429: 'retry'
}

test('every close code stands in the table once and means what it always meant', (t) => {
  t.same(
    entries.map(({ code }) => code).sort((a, b) => a - b),
    Object.keys(ACTIONS).map(Number)
  )
  for (const { code, action } of entries) t.equal(action, ACTIONS[code], String(code))
  t.end()
})

test('every close code may be sent, and its reason fits into a close frame', (t) => {
  const reasons = new Set(entries.map(({ reason }) => reason))
  t.equal(reasons.size, entries.length, 'no reason stands for two codes')
  for (const { code, reason, meaning } of entries) {
    // RFC 6455 §7.4: 1004–1006 and 1015 never go over the wire, 4000–4999 are free.
    t.ok([1003, 1009, 1012, 1013].includes(code) || (code >= 4000 && code <= 4999), String(code))
    t.match(reason, /^[a-z_]{1,123}$/)
    t.match(meaning, /\.$/, 'a whole sentence')
  }
  t.end()
})

test('the client knows what to do after any code', (t) => {
  for (const { code, action } of entries) t.equal(actionAfterClose(code), action)
  for (const code of [0, 1000, 1001, 1005, 1006, 1011, 1015, 4000, 4999, Number.NaN]) {
    t.equal(actionAfterClose(code), 'retry', String(code))
  }
  t.end()
})
