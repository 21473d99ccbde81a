import type { MonitorKind, MonitorSettings } from '../protocol/frames.ts'
import { takesSettings, targetFault } from './targets.ts'

/** What of a monitor the rules between its fields look at. */
interface Rules {
  kind: MonitorKind
  target?: string | null | undefined
  intervalSeconds: number
  timeoutSeconds?: number | undefined
  settings?: MonitorSettings | undefined
  schedule?: string | null | undefined
  timezone?: string | null | undefined
  maxRuntimeSeconds?: number | null | undefined
  resumeOnPing?: boolean | undefined
  agentIsTarget?: boolean | undefined
}

/** By agents; the others report by themselves. */
function isChecked(kind: MonitorKind): boolean {
  return kind !== 'heartbeat' && kind !== 'push'
}

/** How a monitor is timed. A schedule tells when its source reports, and agents check by interval. */
function timingFaults({ kind, schedule, timezone, maxRuntimeSeconds }: Rules): Array<readonly [string, string]> {
  const faults: Array<readonly [string, string]> = []
  if (schedule != null && isChecked(kind)) {
    faults.push(['schedule', `A ${kind} monitor is checked by interval; leave the schedule out.`])
  }
  if (timezone != null && schedule == null) faults.push(['timezone', 'A time zone belongs to a schedule.'])
  if (maxRuntimeSeconds != null && kind !== 'push') {
    faults.push(['maxRuntimeSeconds', 'Only a push monitor says when a run begins; leave it out.'])
  }
  return faults
}

/** Faults that concern several fields at once: name of the field to change, and what to do. */
export function monitorFaults(monitor: Rules): Array<readonly [field: string, detail: string]> {
  const faults: Array<readonly [string, string]> = []
  const target = targetFault(monitor.kind, monitor.target)
  if (target !== null) faults.push(['target', target])
  if ((monitor.timeoutSeconds ?? 0) > monitor.intervalSeconds) {
    faults.push(['timeoutSeconds', 'The timeout must not be longer than the interval.'])
  }
  if (!takesSettings(monitor.kind) && Object.keys(monitor.settings ?? {}).length > 0) {
    faults.push(['settings', `A ${monitor.kind} monitor has no settings; leave them out.`])
  }
  if (monitor.resumeOnPing && isChecked(monitor.kind)) {
    faults.push(['resumeOnPing', 'Agents stop checking what is paused, so nothing could resume it; leave it out.'])
  }
  if (monitor.agentIsTarget && monitor.kind === 'push') {
    faults.push(['agentIsTarget', 'No agent reports to a push URL; leave it out.'])
  }
  return [...faults, ...timingFaults(monitor)]
}
