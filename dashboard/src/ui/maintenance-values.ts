import { call, type Input } from '../api.ts'
import type { MaintenanceWindow } from './maintenance.tsx'

/** A window as the form holds it; times are those of the reader's own zone, as a browser's field for them has them. */
export interface Values {
  title: string
  kind: 'once' | 'recurring'
  from: string
  to: string
  schedule: string
  timezone: string
  durationMinutes: number | ''
  monitorIds: string[]
  tags: string[]
}

export const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

const MS_PER_MINUTE = 60_000

/** "2026-11-21T10:00", as the reader's clock shows it. */
export function localOf(iso: string | undefined): string {
  if (iso === undefined) return ''
  const at = new Date(iso)
  return new Date(at.getTime() - at.getTimezoneOffset() * MS_PER_MINUTE).toISOString().slice(0, 16)
}

export function valuesOf(window: MaintenanceWindow | undefined): Values {
  return {
    title: window?.title ?? '',
    kind: window?.schedule === undefined ? 'once' : 'recurring',
    from: localOf(window?.from),
    to: localOf(window?.to),
    schedule: window?.schedule ?? '',
    timezone: window?.timezone ?? OWN_ZONE,
    durationMinutes: window?.durationMinutes ?? 60,
    monitorIds: window?.monitorIds ?? [],
    tags: window?.tags ?? []
  }
}

/** What was not touched stays as exact as it is: the field has no seconds. */
function isoOf(name: 'from' | 'to', local: string, window: MaintenanceWindow | undefined) {
  if (local === '') return {}
  const known = window?.[name]
  return { [name]: known !== undefined && localOf(known) === local ? known : new Date(local).toISOString() }
}

function timesOf({ kind, from, to, schedule, timezone, durationMinutes }: Values, window?: MaintenanceWindow) {
  if (kind === 'once') return { ...isoOf('from', from, window), ...isoOf('to', to, window) }
  return { schedule, timezone, ...(durationMinutes === '' ? {} : { durationMinutes }) }
}

/** Plans the window, or changes the given one. @throws Problem */
export async function saveMaintenance(window: MaintenanceWindow | undefined, values: Values): Promise<void> {
  const { title, monitorIds, tags } = values
  const body: Input<'POST /v1/maintenance'>['body'] = { title, monitorIds, tags, ...timesOf(values, window) }
  if (window === undefined) await call('POST /v1/maintenance', { body })
  else await call('PATCH /v1/maintenance/{id}', { params: { id: window.id }, body })
}
