/**
 * The one reader of heartbeat times: ISO 8601 in UTC with `Z` and seconds (spec, "Heartbeat"), up to 19 fraction digits,
 * cut to milliseconds. Hand-written because `Date.parse` accepts far more (other zones, February 30th);
 * `test/protocol/timestamp.test.ts` holds it against `Date`.
 */

const ZERO = 48
const DOT = 46
const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const MS_PER_DAY = 86_400_000

function digits(text: string, from: number, count: number): number {
  let value = 0
  for (let i = from; i < from + count; i++) {
    const digit = text.charCodeAt(i) - ZERO
    if (digit < 0 || digit > 9) return Number.NaN
    value = value * 10 + digit
  }
  return value
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

/** Days from 1970-01-01 to the given civil date (proleptic Gregorian), counted in years that begin in March. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

function readDay(text: string): number {
  if (text[4] !== '-' || text[7] !== '-') return Number.NaN
  const year = digits(text, 0, 4)
  const month = digits(text, 5, 2)
  const day = digits(text, 8, 2)
  if (!(month >= 1 && month <= 12)) return Number.NaN
  const longest = month === 2 && isLeap(year) ? 29 : (DAYS_IN_MONTH[month - 1] ?? 0)
  if (!(day >= 1 && day <= longest)) return Number.NaN
  return daysSinceEpoch(year, month, day)
}

/** Milliseconds of `.fff…Z` or `Z` starting at `from`; NaN when it is neither. Digits past the third are cut. */
function readFraction(text: string, from: number): number {
  const end = text.length - 1
  if (text[end] !== 'Z') return Number.NaN
  if (from === end) return 0
  if (text.charCodeAt(from) !== DOT || from + 1 === end) return Number.NaN
  if (Number.isNaN(digits(text, from + 1, end - from - 1))) return Number.NaN
  const kept = Math.min(3, end - from - 1)
  return digits(text, from + 1, kept) * (kept === 1 ? 100 : kept === 2 ? 10 : 1)
}

/** Epoch milliseconds of an ISO 8601 UTC time, or NaN when the text is not one. */
export function parseTimestamp(text: string): number {
  if (text.length < 20 || text.length > 40) return Number.NaN
  if (text[10] !== 'T' || text[13] !== ':' || text[16] !== ':') return Number.NaN
  const hour = digits(text, 11, 2)
  const minute = digits(text, 14, 2)
  const second = digits(text, 17, 2)
  if (!(hour <= 23 && minute <= 59 && second <= 59)) return Number.NaN
  return readDay(text) * MS_PER_DAY + hour * 3_600_000 + minute * 60_000 + second * 1000 + readFraction(text, 19)
}

/** Epoch milliseconds as the wire writes them: `2026-11-21T10:00:00.000Z`. */
export function formatTimestamp(epochMs: number): string {
  return new Date(epochMs).toISOString()
}
