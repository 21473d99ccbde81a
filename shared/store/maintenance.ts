import type { Queryable } from '../db.ts'
import { endAt, endOfMaintenance, mergeSpans, type Span, spansOf, type WindowTimes } from '../schedule/maintenance.ts'

/** The version of a window that holds now. */
export interface MaintenanceRow {
  version: string
  id: string
  title: string
  starts_at: Date | null
  ends_at: Date | null
  schedule: string | null
  timezone: string | null
  duration_minutes: number | null
  tags: string[]
  created_at: Date
  valid_from: Date
  monitor_ids: string[]
}

export interface NewMaintenance {
  version: string
  id: string
  title: string
  times: WindowTimes
  tags: readonly string[]
  monitorKeys: readonly number[]
  createdAt: Date
  validFrom: Date
}

const SELECT = `
  select w.version, w.id, w.title, w.starts_at, w.ends_at, w.schedule, w.timezone, w.duration_minutes, w.tags, w.created_at,
    w.valid_from,
    array(select m.id from maintenance_monitors mm join monitors m on m.key = mm.monitor_key
      where mm.version = w.version order by m.id) as monitor_ids
  from maintenance_windows w
  where w.organization_id = $1 and w.valid_to is null`

/** Newest first: ids are UUIDv7. */
export function listMaintenance(
  db: Queryable,
  organizationId: string,
  after: string | null,
  limit: number
): Promise<MaintenanceRow[]> {
  return db.query<MaintenanceRow>(`${SELECT} and ($2::uuid is null or w.id < $2) order by w.id desc limit $3`, [
    organizationId,
    after,
    limit
  ])
}

/** System-wide: the windows of these organizations that are not over. */
export function listMaintenanceOf(
  db: Queryable,
  organizationIds: readonly string[],
  now: Date
): Promise<Array<Omit<MaintenanceRow, 'monitor_ids' | 'title' | 'tags' | 'created_at'> & { organization_id: string }>> {
  return db.query(
    `select version, id, organization_id, starts_at, ends_at, schedule, timezone, duration_minutes, valid_from
     from maintenance_windows
     where organization_id = any ($1::uuid[]) and valid_to is null and (ends_at is null or ends_at > $2)`,
    [organizationIds, now]
  )
}

/** When what is now (epoch ms) ends, or null. */
export function untilOf(row: TimesRow & Pick<MaintenanceRow, 'valid_from'>, now: number): number | null {
  const end = endAt(timesOf(row), { from: row.valid_from.getTime(), to: Number.POSITIVE_INFINITY }, now)
  return end > now ? end : null
}

/** A window that holds now, with its end (epoch ms). */
export interface ActiveMaintenance extends MaintenanceRow {
  until: number
}

/** Those that hold now (epoch ms); the one that ends last comes last. */
export async function listActiveMaintenance(
  db: Queryable,
  organizationId: string,
  now: number
): Promise<ActiveMaintenance[]> {
  const rows = await db.query<MaintenanceRow>(
    `${SELECT} and (w.starts_at is null or w.starts_at <= $2 and w.ends_at > $2)`,
    [organizationId, new Date(now)]
  )
  const active = rows.map((row) => ({ ...row, until: untilOf(row, now) ?? now })).filter(({ until }) => until > now)
  return active.sort((a, b) => a.until - b.until)
}

export async function findMaintenance(
  db: Queryable,
  organizationId: string,
  id: string
): Promise<MaintenanceRow | undefined> {
  const [row] = await db.query<MaintenanceRow>(`${SELECT} and w.id = $2`, [organizationId, id])
  return row
}

/** As `findMaintenance`, and nobody else changes it until this transaction ends. */
export async function lockMaintenance(
  db: Queryable,
  organizationId: string,
  id: string
): Promise<MaintenanceRow | undefined> {
  const [row] = await db.query<MaintenanceRow>(`${SELECT} and w.id = $2 for update of w`, [organizationId, id])
  return row
}

export async function insertMaintenance(db: Queryable, organizationId: string, window: NewMaintenance): Promise<void> {
  const { times } = window
  const once = 'startsAt' in times
  await db.query(
    `insert into maintenance_windows (version, id, organization_id, title, starts_at, ends_at, schedule, timezone,
       duration_minutes, tags, created_at, valid_from)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      window.version,
      window.id,
      organizationId,
      window.title,
      once ? new Date(times.startsAt) : null,
      once ? new Date(times.endsAt) : null,
      once ? null : times.schedule,
      once ? null : times.timezone,
      once ? null : times.durationMinutes,
      window.tags,
      window.createdAt,
      window.validFrom
    ]
  )
  await db.query(
    'insert into maintenance_monitors (organization_id, version, monitor_key) select $1, $2, unnest($3::bigint[])',
    [organizationId, window.version, window.monitorKeys]
  )
}

export async function endMaintenance(db: Queryable, organizationId: string, version: string, at: Date): Promise<void> {
  await db.query('update maintenance_windows set valid_to = $3 where organization_id = $1 and version = $2', [
    organizationId,
    version,
    at
  ])
}

type TimesRow = Pick<MaintenanceRow, 'starts_at' | 'ends_at' | 'schedule' | 'timezone' | 'duration_minutes'>

/** What a row says of its times; the table's check sees to it that it is one or the other. */
export function timesOf(row: TimesRow): WindowTimes {
  if (row.starts_at !== null && row.ends_at !== null) {
    return { startsAt: row.starts_at.getTime(), endsAt: row.ends_at.getTime() }
  }
  return {
    schedule: row.schedule ?? '',
    timezone: row.timezone ?? 'UTC',
    durationMinutes: row.duration_minutes ?? 0
  }
}

interface CoveringRow {
  monitor_key: number
  starts_at: Date | null
  ends_at: Date | null
  schedule: string | null
  timezone: string | null
  duration_minutes: number | null
  tags: string[]
  valid_from: Date
  valid_to: Date | null
}

/** Every version that touches one of these monitors in that time. Asked of few monitors at a time. */
function listCovering(db: Queryable, monitorKeys: readonly number[], { from, to }: Span): Promise<CoveringRow[]> {
  return db.query<CoveringRow>(
    `select m.key as monitor_key, w.starts_at, w.ends_at, w.schedule, w.timezone, w.duration_minutes, w.tags, w.valid_from,
       w.valid_to
     from monitors m
       join maintenance_windows w on w.organization_id = m.organization_id and (w.tags && m.tags
         or exists (select from maintenance_monitors mm where mm.version = w.version and mm.monitor_key = m.key))
     where m.key = any ($1::bigint[]) and w.valid_from < $3 and (w.valid_to is null or w.valid_to > $2)
       and (w.starts_at is null or w.starts_at < $3 and w.ends_at > $2)`,
    [monitorKeys, new Date(from), new Date(to)]
  )
}

function validOf({ valid_from, valid_to }: CoveringRow): Span {
  return { from: valid_from.getTime(), to: valid_to?.getTime() ?? Number.POSITIVE_INFINITY }
}

/** When this monitor was, or will be, under maintenance within [from, to): without overlap, oldest first, epoch ms. */
export async function maintenanceSpans(db: Queryable, monitorKey: number, from: number, to: number): Promise<Span[]> {
  const rows = await listCovering(db, [monitorKey], { from, to })
  return mergeSpans(
    rows.flatMap((row) => {
      const valid = validOf(row)
      return spansOf(timesOf(row), { from: Math.max(from, valid.from), to: Math.min(to, valid.to) })
    })
  )
}

/** Those of these monitors that are under maintenance at their time (epoch ms), with its end. */
export async function findMaintenanceEnds(
  db: Queryable,
  monitors: ReadonlyMap<number, number>
): Promise<Map<number, number>> {
  const ends = new Map<number, number>()
  if (monitors.size === 0) return ends
  const times = [...monitors.values()]
  // What follows at once may go on long after.
  const rows = await listCovering(db, [...monitors.keys()], {
    from: Math.min(...times),
    to: Math.max(...times) + 31 * 86_400_000
  })
  for (const [monitorKey, at] of monitors) {
    const windows = rows
      .filter((row) => row.monitor_key === monitorKey)
      .map((row) => ({ times: timesOf(row), valid: validOf(row) }))
    const end = endOfMaintenance(windows, at)
    if (end !== null) ends.set(monitorKey, end)
  }
  return ends
}
