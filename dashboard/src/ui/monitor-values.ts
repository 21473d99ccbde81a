import { type Answer, call, type Input } from '../api.ts'

export type Monitor = Answer<'GET /v1/monitors/{id}'>
type NewMonitor = Input<'POST /v1/monitors'>['body']

export const KINDS = [
  { value: 'push', label: 'Push URL: a script pings an address' },
  { value: 'http', label: 'HTTP: an agent opens a URL' },
  { value: 'tcp', label: 'TCP: an agent connects to a port' },
  { value: 'heartbeat', label: 'Heartbeat: a program calls the API' }
] as const

/** An example of a target, for the kinds that have one. */
export const TARGETS: Partial<Record<string, string>> = {
  http: 'https://example.com/health',
  tcp: 'example.com:443'
}

/** How many of its agents have to say that a monitor is down. */
export const QUORUMS = [
  { value: 'any', label: 'any agent says so' },
  { value: 'majority', label: 'more than half of its agents say so' },
  { value: 'all', label: 'all of its agents say so' },
  { value: 'count', label: 'at least so many agents say so' }
] as const

/** A monitor as the form holds it. Numbers are '' while nothing stands in their field. */
export interface Values {
  name: string
  kind: NewMonitor['kind']
  target: string
  /** Expected by interval, or by the slots of a schedule. */
  timing: 'interval' | 'schedule'
  intervalSeconds: number | ''
  schedule: string
  timezone: string
  graceSeconds: number | ''
  timeoutSeconds: number | ''
  confirmations: number | ''
  recoveries: number | ''
  quorum: (typeof QUORUMS)[number]['value']
  /** The N of `count:N`. */
  quorumCount: number | ''
  maxRuntimeSeconds: number | ''
  resumeOnPing: boolean
  agentIsTarget: boolean
  parentIds: string[]
  tags: string[]
}

function quorumOf(monitor: Monitor | undefined): Pick<Values, 'quorum' | 'quorumCount'> {
  const [name, count] = (monitor?.quorum ?? 'any').split(':')
  const quorum = QUORUMS.find(({ value }) => value === name)?.value ?? 'any'
  return { quorum, quorumCount: count === undefined ? 2 : Number(count) }
}

function timingOf(monitor: Monitor | undefined): Pick<Values, 'timing' | 'intervalSeconds' | 'schedule' | 'timezone'> {
  return {
    timing: monitor?.schedule == null ? 'interval' : 'schedule',
    intervalSeconds: monitor?.intervalSeconds ?? 60,
    schedule: monitor?.schedule ?? '',
    timezone: monitor?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
  }
}

export function valuesOf(monitor: Monitor | undefined): Values {
  return {
    name: monitor?.name ?? '',
    kind: monitor?.kind ?? 'push',
    target: monitor?.target ?? '',
    ...timingOf(monitor),
    graceSeconds: monitor?.graceSeconds ?? '',
    timeoutSeconds: monitor?.timeoutSeconds ?? '',
    confirmations: monitor?.confirmations ?? 1,
    recoveries: monitor?.recoveries ?? 1,
    ...quorumOf(monitor),
    maxRuntimeSeconds: monitor?.maxRuntimeSeconds ?? '',
    resumeOnPing: monitor?.resumeOnPing ?? false,
    agentIsTarget: monitor?.agentIsTarget ?? false,
    parentIds: monitor?.parentIds ?? [],
    tags: monitor?.tags ?? []
  }
}

/** Does a program say by itself when it beats? Then a schedule is possible, and no time-out. */
export function reportsByItself(kind: Values['kind']): boolean {
  return kind === 'push' || kind === 'heartbeat'
}

type Numbers = 'graceSeconds' | 'timeoutSeconds' | 'confirmations' | 'recoveries' | 'maxRuntimeSeconds'

function numbersOf(values: Values): Partial<Record<Numbers, number>> {
  const names: Numbers[] = ['graceSeconds', 'confirmations', 'recoveries']
  if (!reportsByItself(values.kind)) names.push('timeoutSeconds')
  if (values.kind === 'push') names.push('maxRuntimeSeconds')
  return Object.fromEntries(names.map((name) => [name, values[name]]).filter(([, value]) => value !== ''))
}

/** What depends on who reports it. */
function rulesOf({ kind, resumeOnPing, agentIsTarget, quorum, quorumCount }: Values) {
  if (reportsByItself(kind)) return { resumeOnPing }
  return { agentIsTarget, quorum: quorum === 'count' ? `count:${quorumCount}` : quorum }
}

/** What was left empty is left out: the API has a default for it. */
function commonOf(values: Values) {
  const { name, kind, target, tags, parentIds } = values
  return { name, tags, parentIds, ...(kind in TARGETS ? { target } : {}), ...rulesOf(values), ...numbersOf(values) }
}

/** Creates the monitor, or changes the given one. Resolves to its id. @throws Problem */
export async function saveMonitor(monitor: Monitor | undefined, values: Values): Promise<string> {
  const { kind, timing, schedule, timezone, intervalSeconds } = values
  const scheduled = timing === 'schedule' && reportsByItself(kind)
  const times = scheduled ? { schedule, timezone } : intervalSeconds === '' ? {} : { intervalSeconds }
  if (monitor === undefined) {
    return (await call('POST /v1/monitors', { body: { ...commonOf(values), kind, ...times } })).id
  }
  const unscheduled = !scheduled && monitor.schedule !== null ? { schedule: null } : {}
  const runtime = kind === 'push' && values.maxRuntimeSeconds === '' ? { maxRuntimeSeconds: null } : {}
  await call('PATCH /v1/monitors/{id}', {
    params: { id: monitor.id },
    body: { ...commonOf(values), ...times, ...unscheduled, ...runtime }
  })
  return monitor.id
}
