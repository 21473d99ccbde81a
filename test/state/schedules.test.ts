import { test } from 'tap'
import { isTimezone, scheduleFault, slotsAfter } from '../../shared/schedule/cron.ts'
import { deadlineAfter, expectedAfter, type Timing } from '../../shared/schedule/deadline.ts'

const at = (text: string) => Date.parse(text)
const iso = (time: number) => new Date(time).toISOString().replace('.000Z', 'Z')

function cron(schedule: string, timezone = 'UTC', graceSeconds = 0): Timing {
  return { intervalSeconds: 3600, graceSeconds, schedule, timezone }
}

const EXPECTED: Array<[what: string, timing: Timing, receivedAt: string, expected: string]> = [
  ['the next slot', cron('30 2 * * *'), '2026-11-21T02:30:05Z', '2026-11-22T02:30:00Z'],
  ['a run a minute early is of its slot', cron('30 2 * * *'), '2026-11-21T02:29:00Z', '2026-11-22T02:30:00Z'],
  ['five minutes early too', cron('30 2 * * *'), '2026-11-21T02:25:00Z', '2026-11-22T02:30:00Z'],
  ['but no more', cron('30 2 * * *'), '2026-11-21T02:24:59Z', '2026-11-21T02:30:00Z'],
  ['of short gaps a tenth', cron('*/5 * * * *'), '2026-11-21T10:04:30Z', '2026-11-21T10:10:00Z'],
  ['and no more', cron('*/5 * * * *'), '2026-11-21T10:04:29Z', '2026-11-21T10:05:00Z'],
  [
    'summer time begins: the day has 23 hours',
    cron('0 9 * * *', 'Europe/Berlin'),
    '2026-03-28T08:00:09Z',
    '2026-03-29T07:00:00Z'
  ],
  [
    'summer time ends: the day has 25 hours',
    cron('0 9 * * *', 'Europe/Berlin'),
    '2026-10-24T07:00:09Z',
    '2026-10-25T08:00:00Z'
  ],
  [
    'a slot in the skipped hour comes after it',
    cron('30 2 * * *', 'Europe/Berlin'),
    '2026-03-28T01:30:09Z',
    '2026-03-29T01:30:00Z'
  ],
  [
    'a slot in the double hour comes once',
    cron('30 2 * * *', 'Europe/Berlin'),
    '2026-10-25T00:30:09Z',
    '2026-10-26T01:30:00Z'
  ],
  [
    'every hour of the double hour counts',
    cron('0 * * * *', 'Europe/Berlin'),
    '2026-10-25T00:00:09Z',
    '2026-10-25T01:00:00Z'
  ],
  ['another side of the earth', cron('0 0 * * 1', 'Pacific/Auckland'), '2026-11-21T00:00:00Z', '2026-11-22T11:00:00Z'],
  ['an interval', { ...cron(''), schedule: null, timezone: null }, '2026-11-21T10:00:00Z', '2026-11-21T11:00:00Z'],
  [
    'a zone that this machine does not know: by interval',
    cron('0 0 * * 1', 'Mars/Base'),
    '2026-11-21T10:00:00Z',
    '2026-11-21T11:00:00Z'
  ]
]

for (const [what, timing, receivedAt, expected] of EXPECTED) {
  test(`expected after ${receivedAt} by ${timing.schedule ?? 'interval'}: ${what}`, (t) => {
    t.equal(iso(expectedAfter(timing, at(receivedAt))), expected)
    t.end()
  })
}

test('the deadline is what is expected and the grace', (t) => {
  t.equal(iso(deadlineAfter(cron('30 2 * * *', 'UTC', 900), at('2026-11-21T02:31:00Z'))), '2026-11-22T02:45:00Z')
  t.end()
})

const NINE = at('2026-11-21T09:00:00Z')
const minute = (n: number) => NINE + n * 60_000
const byInterval: Timing = { intervalSeconds: 60, graceSeconds: 30, schedule: null, timezone: null }
const OUTAGES: Array<[what: string, outages: Array<[from: number, to: number]>, deadlineMinute: number]> = [
  ['one that was over before does not matter', [[-5, 0]], 1.5],
  ['one that begins after the deadline does not matter', [[1.6, 9]], 1.5],
  ['one around the deadline moves it by its length and an interval', [[0.5, 10.5]], 12.5],
  ['one that ends between what was expected and the deadline too', [[0.5, 1.25]], 3.25],
  ['one that ends before anything was expected does not matter', [[0.25, 0.75]], 1.5],
  [
    'each of two counts',
    [
      [0.5, 10.5],
      [11, 14]
    ],
    16.5
  ]
]
for (const [what, spans, deadlineMinute] of OUTAGES) {
  test(`an outage of ours: ${what}`, (t) => {
    const outages = spans.map(([from, to]) => ({ from: minute(from), to: minute(to) }))
    t.equal((deadlineAfter(byInterval, NINE, outages) - NINE) / 60_000, deadlineMinute)
    t.end()
  })
}

test('after an outage a daily job gets five minutes more, not a day', (t) => {
  const daily: Timing = { ...byInterval, intervalSeconds: 86_400 }
  const day = 86_400_000
  const outages = [{ from: NINE + day - 60_000, to: NINE + day + 60_000 }]
  t.equal(deadlineAfter(daily, NINE, outages), NINE + day + 120_000 + 300_000 + 30_000)
  t.end()
})

test('schedules that never come, or cannot be read, are refused with a sentence', (t) => {
  for (const schedule of [
    '0 0 31 2 *',
    '0 0 31 4,6 *',
    '61 * * * *',
    '* * * * * * *',
    '* * * *',
    'H * * * *',
    'often',
    ''
  ]) {
    t.match(scheduleFault(schedule, 'UTC', NINE), /\.$/, schedule)
  }
  for (const schedule of [
    '*/30 * * * * *',
    '*/5 * * * *',
    '0 0 29 2 *',
    '@daily',
    '0 9-17 * * MON-FRI',
    '0 0 L * *',
    '15,45 * 1 1 *'
  ]) {
    t.equal(scheduleFault(schedule, 'UTC', NINE), null, schedule)
  }
  t.end()
})

test('zones are known by name', (t) => {
  t.same(['UTC', 'Europe/Berlin', 'Mars/Base', '+02:00', ''].map(isTimezone), [true, true, false, false, false])
  t.end()
})

test('a year has as many slots as it must, whatever summer time does', (t) => {
  const [first] = slotsAfter('0 3 * * *', 'America/New_York', at('2026-01-01T00:00:00Z'), 1)
  const days = slotsAfter('0 3 * * *', 'America/New_York', at('2026-01-01T00:00:00Z'), 366)
  t.equal(iso(first as number), '2026-01-01T08:00:00Z')
  t.equal(iso(days[365] as number), '2027-01-01T08:00:00Z')
  t.equal(new Set(days).size, 366)
  t.end()
})
