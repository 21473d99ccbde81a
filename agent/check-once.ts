import type { AgentMonitor } from '../shared/protocol/frames.ts'
import type { CheckResult } from './checks/check.ts'
import { createChecks } from './start-agent.ts'

const TIMEOUT_SECONDS = 10

/** A URL is checked by HTTP, `host:port` by TCP; null for anything else. */
function toMonitor(target: string): AgentMonitor | null {
  const isUrl = /^https?:\/\//i.test(target) && URL.canParse(target)
  if (!isUrl && !/^[^\s/]+:\d{1,5}$/.test(target)) return null
  return {
    monitorId: '',
    name: target,
    kind: isUrl ? 'http' : 'tcp',
    target,
    intervalSeconds: TIMEOUT_SECONDS,
    timeoutSeconds: TIMEOUT_SECONDS
  }
}

/** One check as the agent would run it; null when the target is neither a URL nor `host:port`. */
export async function checkOnce(
  target: string,
  ca: readonly string[] | undefined,
  version: string
): Promise<CheckResult | null> {
  const monitor = toMonitor(target)
  const check = monitor === null ? undefined : createChecks(ca, version)[monitor.kind]
  if (monitor === null || check === undefined) return null
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(), TIMEOUT_SECONDS * 1000)
  const result = await check(monitor, controller.signal)
  clearTimeout(timer)
  return result
}
