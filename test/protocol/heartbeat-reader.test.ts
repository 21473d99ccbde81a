import fc from 'fast-check'
import { test } from 'tap'
import { heartbeatSchema, type ItemFault, MAX_MESSAGE_LENGTH } from '../../shared/protocol/heartbeat.ts'
import { createReading, readHeartbeat } from '../../shared/protocol/heartbeat-reader.ts'
import { parseTimestamp } from '../../shared/protocol/timestamp.ts'

const GOOD = {
  monitorId: '01890000-0000-7000-8000-000000000001',
  status: 'up',
  latency: 12.5,
  timestamp: '2026-11-21T10:00:00.000Z'
}

/** Both readers over one value: do they agree whether it is a heartbeat, and on every field? */
function agree(value: unknown): boolean {
  const into = createReading()
  into.message = 'of the heartbeat before'
  const fault = readHeartbeat(value, into)
  const { success, data } = heartbeatSchema.safeParse(value)
  if (!success) return fault !== null
  return (
    fault === null &&
    into.monitorId === data.monitorId &&
    into.status === data.status &&
    Object.is(into.latency, data.latency) &&
    into.timestamp === parseTimestamp(data.timestamp) &&
    into.message === data.message
  )
}

const nastyText = fc.oneof(
  fc.constantFrom('', 'up', 'UP', 'start', '\u0000', 'a\u0000b', '\ud800', 'a\udc00', '☃', '__proto__', 'constructor'),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(1999, 2000, 2001).map((length) => 'x'.repeat(length)),
  fc.constantFrom(1000, 1001, 2000, 2001).map((length) => '𝄞'.repeat(length))
)
const nastyNumber = fc.oneof(
  fc.constantFrom(0, -0, -1, 5e-324, -5e-324, 1e300, Number.MAX_VALUE, 2 ** 53, 0.1 + 0.2),
  fc.double({ noNaN: true }),
  fc.integer()
)
const nasty = fc.oneof(nastyText, nastyNumber, fc.constantFrom(null, true, false, [], {}, [1]), fc.jsonValue())
const goodTime = fc
  .date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) })
  .map((date) => date.toISOString())

/** Mostly right, so that the faults come one at a time and not all at once. */
const item = fc.record(
  {
    monitorId: fc.oneof({ weight: 8, arbitrary: fc.uuid() }, nasty),
    status: fc.oneof({ weight: 8, arbitrary: fc.constantFrom('up', 'down', 'degraded') }, nasty),
    latency: fc.oneof({ weight: 4, arbitrary: fc.double({ min: 0, noNaN: true }) }, nastyNumber, nasty),
    timestamp: fc.oneof({ weight: 8, arbitrary: goodTime }, nasty),
    message: fc.oneof({ weight: 4, arbitrary: nastyText }, nasty)
  },
  { requiredKeys: [] }
)
const withMore = fc
  .tuple(item, fc.oneof(fc.string(), fc.constantFrom('id', 'toString', 'Status', '')), nasty)
  .map(([fields, name, value]) => ({ ...fields, [name]: value }))

test('the fast reader takes exactly what the schema takes, and reads the same from it', (t) => {
  const value = fc.oneof({ weight: 6, arbitrary: item }, withMore, nasty, fc.array(item, { maxLength: 2 }))
  fc.assert(
    fc.property(value, (one) => agree(JSON.parse(JSON.stringify(one)))),
    { numRuns: 20_000 }
  )
  t.end()
})

test('the generated heartbeats are of both kinds', (t) => {
  const verdicts = fc
    .sample(item, 2000)
    .map((one) => heartbeatSchema.safeParse(JSON.parse(JSON.stringify(one))).success)
  t.ok(verdicts.filter(Boolean).length > 100, 'many are right')
  t.ok(verdicts.filter((right) => !right).length > 100, 'many are wrong')
  t.end()
})

/** GOOD as JSON text with members added or, by their name again at the end, replaced. */
function textWith(members: string): string {
  return `${JSON.stringify(GOOD).slice(0, -1)},${members}}`
}

const TEXTS: Array<[what: string, text: string, fault: ItemFault | null]> = [
  ['__proto__ as a member', textWith('"__proto__":{"status":"down"}'), 'unknown_field'],
  ['__proto__ that holds every field', `{"__proto__":${JSON.stringify(GOOD)}}`, 'missing_field'],
  ['__proto__ null', textWith('"__proto__":null'), 'unknown_field'],
  ['constructor as a member', textWith('"constructor":{"prototype":{}}'), 'unknown_field'],
  ['a repeated status, the last good', textWith('"status":"down"'), null],
  ['a repeated status, the last bad', textWith('"status":"lost"'), 'invalid_status'],
  ['a number past the largest', textWith('"latency":1e400'), 'invalid_latency'],
  ['a negative number past the largest', textWith('"latency":-1e400'), 'invalid_latency'],
  ['minus nothing', textWith('"latency":-0'), null],
  ['a number too small to tell from nothing', textWith('"latency":1e-400'), null],
  ['the smallest number', textWith('"latency":5e-324'), null],
  ['a whole number past 2^53', textWith('"latency":9007199254740993'), null],
  ['U+0000 in the message', textWith('"message":"a\\u0000b"'), 'invalid_message'],
  ['U+0000 in the monitor', textWith('"monitorId":"\\u0000"'), null],
  ['a lone surrogate in the message', textWith('"message":"\\ud800"'), null],
  ['an escaped member name', textWith('"\\u0073tatus":"down"'), null],
  ['a name with U+0000', textWith('"status\\u0000":"up"'), 'unknown_field'],
  ['message null', textWith('"message":null'), 'invalid_message'],
  ['an array that holds the fields', `[${JSON.stringify(GOOD)}]`, 'not_an_object']
]

for (const [what, text, fault] of TEXTS) {
  test(`raw JSON: ${what} is ${fault ?? 'taken'}`, (t) => {
    const value: unknown = JSON.parse(text)
    t.equal(readHeartbeat(value, createReading()), fault)
    t.ok(agree(value), 'and the schema says the same')
    t.end()
  })
}

function without(name: keyof typeof GOOD): object {
  return Object.fromEntries(Object.entries(GOOD).filter(([key]) => key !== name))
}

const FAULTS: Array<[value: unknown, fault: ItemFault]> = [
  [null, 'not_an_object'],
  ['up', 'not_an_object'],
  [1, 'not_an_object'],
  [true, 'not_an_object'],
  [[], 'not_an_object'],
  [{}, 'missing_field'],
  [without('monitorId'), 'missing_field'],
  [without('status'), 'missing_field'],
  [without('latency'), 'missing_field'],
  [without('timestamp'), 'missing_field'],
  [{ ...GOOD, id: 1 }, 'unknown_field'],
  [{ ...GOOD, monitorId: 7 }, 'monitor_not_allowed'],
  [{ ...GOOD, monitorId: null }, 'monitor_not_allowed'],
  [{ ...GOOD, status: 'UP' }, 'invalid_status'],
  [{ ...GOOD, status: 'start' }, 'invalid_status'],
  [{ ...GOOD, status: 1 }, 'invalid_status'],
  [{ ...GOOD, status: ['up'] }, 'invalid_status'],
  [{ ...GOOD, latency: -1 }, 'invalid_latency'],
  [{ ...GOOD, latency: '12' }, 'invalid_latency'],
  [{ ...GOOD, latency: null }, 'invalid_latency'],
  [{ ...GOOD, timestamp: 1_795_255_200_000 }, 'invalid_timestamp'],
  [{ ...GOOD, timestamp: 'yesterday' }, 'invalid_timestamp'],
  [{ ...GOOD, timestamp: '2026-11-21T10:00:00+00:00' }, 'invalid_timestamp'],
  [{ ...GOOD, message: 5 }, 'invalid_message'],
  [{ ...GOOD, message: 'x'.repeat(MAX_MESSAGE_LENGTH + 1) }, 'invalid_message']
]

test('each fault has its code, on which the schema agrees that it is one', (t) => {
  for (const [value, fault] of FAULTS) {
    t.equal(readHeartbeat(value, createReading()), fault, JSON.stringify(value)?.slice(0, 80))
    t.notOk(heartbeatSchema.safeParse(value).success)
  }
  t.end()
})

test('the longest message is counted in characters of Unicode', (t) => {
  for (const character of ['x', '☃', '𝄞', '\ud800']) {
    const longest = { ...GOOD, message: character.repeat(MAX_MESSAGE_LENGTH) }
    t.equal(readHeartbeat(longest, createReading()), null)
    t.ok(agree(longest))
    const longer = { ...GOOD, message: `${longest.message}x` }
    t.equal(readHeartbeat(longer, createReading()), 'invalid_message')
    t.ok(agree(longer))
  }
  t.end()
})

test('a heartbeat without a message does not keep that of the one before', (t) => {
  const into = createReading()
  t.equal(readHeartbeat({ ...GOOD, message: 'slow' }, into), null)
  t.equal(into.message, 'slow')
  t.equal(readHeartbeat(GOOD, into), null)
  t.equal(into.message, undefined)
  t.end()
})
