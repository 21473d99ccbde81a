import type { AgentMonitor } from '../../shared/protocol/frames.ts'
import type { HeartbeatStatus } from '../../shared/protocol/heartbeat.ts'

export interface CheckResult {
  readonly status: HeartbeatStatus
  /** Milliseconds by the monotonic clock, also of a check that failed. */
  readonly latency: number
  readonly message?: string
}

/** One check of one target. It never rejects for a fault of the target: that is `down`. `signal` ends it at its time-out. */
export type Check = (monitor: AgentMonitor, signal: AbortSignal) => Promise<CheckResult>

const LONGEST_MESSAGE = 300

/** Starts the stopwatch of a check; the functions end it with a result. */
export function beginCheck(monitor: AgentMonitor): {
  good(): CheckResult
  bad(message: string): CheckResult
} {
  const started = performance.now()
  const elapsed = () => Math.round((performance.now() - started) * 10) / 10
  return {
    good() {
      const latency = elapsed()
      const limit = monitor.settings?.degradedOverMs
      if (limit === undefined || latency <= limit) return { status: 'up', latency }
      return { status: 'degraded', latency, message: `slower than ${limit} ms` }
    },
    bad: (message) => ({ status: 'down', latency: elapsed(), message: message.slice(0, LONGEST_MESSAGE) })
  }
}

export function timeoutMessage(monitor: AgentMonitor): string {
  return `no whole answer within ${monitor.timeoutSeconds} s`
}
