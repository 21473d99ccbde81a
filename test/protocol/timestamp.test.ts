import fc from 'fast-check'
import { test } from 'tap'
import { formatTimestamp, parseTimestamp } from '../../shared/protocol/timestamp.ts'

const FIRST = Date.parse('0000-01-01T00:00:00.000Z')
const LAST = Date.parse('9999-12-31T23:59:59.999Z')
const anyTime = fc.integer({ min: FIRST, max: LAST })

test('every time that Date writes is read as that time', (t) => {
  fc.assert(
    fc.property(anyTime, (epochMs) => parseTimestamp(new Date(epochMs).toISOString()) === epochMs),
    { numRuns: 5000 }
  )
  t.end()
})

test('the first and last moments of months, leap years and centuries are read as Date reads them', (t) => {
  for (const year of ['0000', '0004', '0100', '1900', '1969', '1970', '2000', '2024', '2026', '2100', '2400', '9999']) {
    for (let month = 1; month <= 12; month++) {
      const first = Date.UTC(2000, month - 1, 1)
      const text = `${year}${new Date(first).toISOString().slice(4)}`
      const epochMs = Date.parse(text)
      t.equal(parseTimestamp(text), epochMs, text)
      const before = new Date(epochMs - 1)
      if (before.getTime() >= FIRST) t.equal(parseTimestamp(before.toISOString()), before.getTime())
    }
  }
  t.end()
})

test('up to 19 fraction digits are cut to milliseconds, never rounded', (t) => {
  const fraction = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 19 })
  const wholeSecond = fc.integer({ min: FIRST / 1000, max: (LAST - 999) / 1000 }).map((seconds) => seconds * 1000)
  fc.assert(
    fc.property(wholeSecond, fraction, (second, digits) => {
      const text = `${new Date(second).toISOString().slice(0, 19)}.${digits}Z`
      return parseTimestamp(text) === second + Number(digits.padEnd(3, '0').slice(0, 3))
    }),
    { numRuns: 2000 }
  )
  t.equal(parseTimestamp('2026-11-21T10:00:00Z'), Date.UTC(2026, 10, 21, 10))
  t.equal(parseTimestamp('2026-11-21T10:00:00.9999999999999999999Z'), Date.UTC(2026, 10, 21, 10, 0, 0, 999))
  t.end()
})

test('what the wire writes is what it reads, to the character', (t) => {
  t.equal(formatTimestamp(Date.UTC(2026, 10, 21, 10)), '2026-11-21T10:00:00.000Z')
  fc.assert(fc.property(anyTime, (epochMs) => parseTimestamp(formatTimestamp(epochMs)) === epochMs))
  t.end()
})

const REFUSED = {
  'another zone': '2026-11-21T10:00:00+01:00',
  'UTC as an offset': '2026-11-21T10:00:00+00:00',
  'a negative offset': '2026-11-21T10:00:00-05:00',
  'no zone': '2026-11-21T10:00:00',
  'no zone but a fraction': '2026-11-21T10:00:00.000',
  'a small z': '2026-11-21T10:00:00z',
  'a small t': '2026-11-21t10:00:00Z',
  'a space for the T': '2026-11-21 10:00:00Z',
  'no seconds': '2026-11-21T10:00Z',
  'no time': '2026-11-21',
  'no time but a zone': '2026-11-21Z',
  'the basic form': '20261121T100000Z',
  'a week date': '2026-W47-6T10:00:00Z',
  'an ordinal date': '2026-325T10:00:00.0Z',
  'a year of five digits': '12026-11-21T10:00:00Z',
  'an extended year': '+002026-11-21T10:00:00Z',
  'a negative year': '-002026-11-21T10:00:00Z',
  'a year of two digits': '26-11-21T10:00:00.000Z',
  'month 0': '2026-00-21T10:00:00Z',
  'month 13': '2026-13-21T10:00:00Z',
  'day 0': '2026-11-00T10:00:00Z',
  'day 32': '2026-12-32T10:00:00Z',
  'November 31st': '2026-11-31T10:00:00Z',
  'February 30th': '2024-02-30T10:00:00Z',
  'February 29th of a common year': '2026-02-29T10:00:00Z',
  'February 29th of 1900': '1900-02-29T10:00:00Z',
  'hour 24': '2026-11-21T24:00:00Z',
  'minute 60': '2026-11-21T10:60:00Z',
  'a leap second': '2026-12-31T23:59:60Z',
  'a dot without digits': '2026-11-21T10:00:00.Z',
  'a comma for the dot': '2026-11-21T10:00:00,000Z',
  'a sign in the fraction': '2026-11-21T10:00:00.-1Z',
  'letters in the fraction': '2026-11-21T10:00:00.00aZ',
  'two dots': '2026-11-21T10:00:00.0.0Z',
  'something after it': '2026-11-21T10:00:00ZZ',
  'a space before it': ' 2026-11-21T10:00:00Z',
  'a space after it': '2026-11-21T10:00:00Z ',
  'a line break after it': '2026-11-21T10:00:00Z\n',
  'a sign in a field': '2026-11-21T-1:00:00Z',
  'a space in a field': '2026-11-21T 1:00:00Z',
  'other digits': '２０２６-11-21T10:00:00.000Z',
  slashes: '2026/11/21T10:00:00Z',
  'dots for colons': '2026-11-21T10.00.00Z',
  'more than 19 fraction digits': `2026-11-21T10:00:00.${'0'.repeat(20)}Z`,
  'a year Date can tell': '275760-09-13T00:00:00.000Z',
  'epoch milliseconds': '1795255200000',
  'twenty digits': '17952552000000000000',
  'a date for mail': 'Sat, 21 Nov 2026 10:00:00 GMT',
  nothing: ''
}

for (const [what, text] of Object.entries(REFUSED)) {
  test(`refused: ${what}`, (t) => {
    t.ok(Number.isNaN(parseTimestamp(text)))
    t.end()
  })
}

test('one changed character makes the time either unreadable or another valid time of Date', (t) => {
  const edit = fc.record({ at: fc.nat(23), to: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) })
  fc.assert(
    fc.property(anyTime, edit, (epochMs, { at, to }) => {
      const text = new Date(epochMs).toISOString()
      const read = parseTimestamp(text.slice(0, at) + to + text.slice(at + 1))
      return Number.isNaN(read) || new Date(read).toISOString() === text.slice(0, at) + to + text.slice(at + 1)
    }),
    { numRuns: 5000 }
  )
  t.end()
})
