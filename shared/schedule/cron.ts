import { CronExpressionParser } from 'cron-parser'

const NICKNAMES = new Set(['@hourly', '@daily', '@weekly', '@monthly', '@yearly', '@annually', '@midnight'])
/** Seconds may come first. */
const FIELDS = [5, 6]
/** What a field may be made of. `H`, which stands for a random value, is not among it. */
const FIELD = /^(?!H)[\d*,/#?A-Z-]+$/i

function isFields(schedule: string): boolean {
  const fields = schedule.split(/\s+/)
  return FIELDS.includes(fields.length) && fields.every((field) => FIELD.test(field) && !/[,/]H/i.test(field))
}

/** Is this the name of a time zone, such as Europe/Berlin? */
export function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    // An offset is taken by newer versions of Node, and knows no summer time.
    return !/^[+-]/.test(name)
  } catch {
    // That is how it says no.
    return false
  }
}

/**
 * The next slots of a cron schedule after `after` (epoch ms), in the time of its zone: a slot in the hour that summer time
 * skips comes an hour later, one in the hour that comes twice comes once.
 * @throws Error when the schedule cannot be read, or no such day ever comes.
 */
export function slotsAfter(schedule: string, timezone: string, after: number, count: number): number[] {
  const slots = CronExpressionParser.parse(schedule, { currentDate: new Date(after), tz: timezone })
  return Array.from({ length: count }, () => slots.next().getTime())
}

/** Why this is no schedule, or null. The zone must be one. */
export function scheduleFault(schedule: string, timezone: string, now: number): string | null {
  const text = schedule.trim()
  if (!NICKNAMES.has(text) && !isFields(text)) {
    return 'A schedule is a nickname such as @daily, or has five fields, as in "30 2 * * *": minute, hour, day of month, month, day of week; a sixth one before them is the second.'
  }
  try {
    slotsAfter(text, timezone, now, 1)
    return null
  } catch (error) {
    return `This schedule cannot be read, or never comes: ${(error as Error).message}.`
  }
}

/** The shortest gap between the next few slots, in seconds: what an interval is for a schedule. */
export function shortestGap(schedule: string, timezone: string, now: number): number {
  const slots = slotsAfter(schedule, timezone, now, 12)
  const gaps = slots.slice(1).map((slot, i) => slot - (slots[i] as number))
  return Math.max(1, Math.round(Math.min(...gaps) / 1000))
}
