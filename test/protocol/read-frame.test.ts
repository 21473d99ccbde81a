import fc from 'fast-check'
import { test } from 'tap'
import { readFrame } from '../../gateway/read-frame.ts'
import { agentFrameSchema } from '../../shared/protocol/frames.ts'

const STREAM = '01890000-0000-7000-8000-000000000001'

/** Does the fast reader take exactly the texts that the schema takes, with the same known fields? */
function agree(text: string): boolean {
  const read = readFrame(text)
  const { success, data } = agentFrameSchema.safeParse(JSON.parse(text))
  if (!success || read === null) return !success && read === null
  // The fast way leaves unknown fields of the envelope in place; whoever reads the frame does not see them.
  const known = Object.fromEntries(Object.keys(data).map((name) => [name, read[name as keyof typeof read]]))
  return JSON.stringify(known) === JSON.stringify(data)
}

const nasty = fc.oneof(
  fc.constantFrom<unknown>(0, -0, 1, -1, 1.5, 2 ** 53, 2 ** 53 - 1, 1e300, null, true, '', '1', [], {}, [[]]),
  fc.jsonValue()
)
const seq = fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1 }) }, nasty)
const heartbeats = fc.record(
  {
    type: fc.oneof({ weight: 9, arbitrary: fc.constant('heartbeats') }, nasty),
    seq,
    sentAt: fc.oneof({ weight: 4, arbitrary: fc.string() }, nasty),
    items: fc.oneof({ weight: 4, arbitrary: fc.array(nasty, { maxLength: 3 }) }, nasty),
    more: nasty
  },
  { requiredKeys: ['type'] }
)
const hello = fc.record(
  {
    type: fc.constantFrom('hello', 'Hello', 'heartbeats'),
    stream: fc.oneof({ weight: 4, arbitrary: fc.uuid() }, nasty),
    first: seq,
    agent: fc.oneof(
      fc.record({ name: fc.oneof(fc.string(), nasty), version: fc.oneof(fc.string(), nasty) }, { requiredKeys: [] }),
      nasty
    ),
    items: nasty
  },
  { requiredKeys: ['type'] }
)

test('the fast reader takes exactly the frames that the schema takes, and reads the same from them', (t) => {
  const frame = fc.oneof({ weight: 4, arbitrary: heartbeats }, { weight: 3, arbitrary: hello }, nasty)
  fc.assert(
    fc.property(frame, (value) => agree(JSON.stringify(value))),
    { numRuns: 20_000 }
  )
  t.end()
})

test('the generated frames are of both kinds', (t) => {
  for (const frame of [heartbeats, hello]) {
    const taken = fc.sample(frame, 2000).filter((value) => readFrame(JSON.stringify(value)) !== null).length
    t.ok(taken > 50 && taken < 1950, `${taken} of 2000 were taken`)
  }
  t.end()
})

const TEXTS: Array<[what: string, text: string, taken: boolean]> = [
  ['the least of a frame', '{"type":"heartbeats","seq":1,"items":[]}', true],
  ['the largest sequence number', '{"type":"heartbeats","seq":9007199254740991,"items":[]}', true],
  ['a sequence number past it', '{"type":"heartbeats","seq":9007199254740992,"items":[]}', false],
  ['a sequence number as a text', '{"type":"heartbeats","seq":"1","items":[]}', false],
  ['a whole sequence number with a fraction', '{"type":"heartbeats","seq":1.0,"items":[]}', true],
  ['sequence number 0', '{"type":"heartbeats","seq":0,"items":[]}', false],
  ['sequence number -0', '{"type":"heartbeats","seq":-0,"items":[]}', false],
  ['an infinite sequence number', '{"type":"heartbeats","seq":1e400,"items":[]}', false],
  ['items as an object', '{"type":"heartbeats","seq":1,"items":{"length":1}}', false],
  ['items that are no heartbeats', '{"type":"heartbeats","seq":1,"items":[1,null,"x",[]]}', true],
  ['a repeated sequence number, the last good', '{"type":"heartbeats","seq":"x","seq":1,"items":[]}', true],
  ['an unknown field', '{"type":"heartbeats","seq":1,"items":[],"more":1}', true],
  ['__proto__ as a member', '{"type":"heartbeats","seq":1,"items":[],"__proto__":{"seq":0}}', true],
  ['fields that __proto__ holds', '{"__proto__":{"type":"heartbeats","seq":1,"items":[]}}', false],
  ['sentAt null', '{"type":"heartbeats","seq":1,"items":[],"sentAt":null}', false],
  ['a hello', `{"type":"hello","stream":"${STREAM}","first":1}`, true],
  ['a hello with an unknown field', `{"type":"hello","stream":"${STREAM}","first":1,"x":1}`, true],
  ['a hello without a stream', '{"type":"hello","first":1}', false],
  ['a hello whose stream is no UUID', '{"type":"hello","stream":"mine","first":1}', false],
  ['a hello from 0', `{"type":"hello","stream":"${STREAM}","first":0}`, false],
  ['a frame of the gateway', '{"type":"ack","seq":1}', false],
  ['an unknown type', '{"type":"bonjour"}', false],
  ['no type', '{"seq":1,"items":[]}', false],
  ['an array', '[{"type":"heartbeats","seq":1,"items":[]}]', false],
  ['null', 'null', false]
]

for (const [what, text, taken] of TEXTS) {
  test(`${what} is ${taken ? 'taken' : 'refused'}`, (t) => {
    t.equal(readFrame(text) !== null, taken)
    t.ok(agree(text), 'and the schema says the same')
    t.end()
  })
}

test('what is not JSON is no frame', (t) => {
  const texts = [
    '',
    '{',
    'hello',
    '{"type":"hello"',
    "{'type':'hello'}",
    '{}{}',
    '\ufeff{}',
    '[1,]',
    'NaN',
    '[undefined]'
  ]
  for (const text of texts) t.equal(readFrame(text), null, text)
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => readFrame(text) === null))
  t.end()
})

test('a text nested ten thousand deep is refused without harm', (t) => {
  const deep = '['.repeat(10_000) + ']'.repeat(10_000)
  t.equal(readFrame(deep), null)
  t.match(readFrame(`{"type":"heartbeats","seq":1,"items":[${deep}]}`), { seq: 1 })
  t.end()
})
