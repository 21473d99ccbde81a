import type { MonitorKind } from '../protocol/frames.ts'

const HOST = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?$/i
const BRACKETED = /^\[[0-9a-f:.]{2,45}\]$/i
const IPV6 = /^(?=.*:)[0-9a-f:.]{2,45}$/i

function isUrl(target: string): boolean {
  try {
    return /^https?:$/.test(new URL(target).protocol)
  } catch {
    // The URL class says "not a URL" by throwing.
    return false
  }
}

function isHostAndPort(target: string): boolean {
  const colon = target.lastIndexOf(':')
  const host = target.slice(0, colon)
  const port = target.slice(colon + 1)
  if (colon < 1 || !/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) return false
  return HOST.test(host) || BRACKETED.test(host)
}

function isHost(target: string): boolean {
  return HOST.test(target) || IPV6.test(target)
}

/** How the target of each kind is written; null: it has none. */
const RULES: Record<MonitorKind, { fits: (target: string) => boolean; form: string } | null> = {
  http: { fits: isUrl, form: 'an http:// or https:// address' },
  tcp: { fits: isHostAndPort, form: 'host:port' },
  tls: { fits: isHostAndPort, form: 'host:port' },
  dns: { fits: isHost, form: 'a host name' },
  ping: { fits: isHost, form: 'a host name or an address' },
  command: null,
  heartbeat: null,
  push: null
}

/** What is wrong with this target for this kind, as a sentence that says how to fix it; null when nothing is. */
export function targetFault(kind: MonitorKind, target: string | null | undefined): string | null {
  const rule = RULES[kind]
  if (rule === null) return target == null ? null : `A ${kind} monitor has no target; leave it out.`
  if (target == null) return `A ${kind} monitor needs a target: ${rule.form}.`
  return rule.fits(target) ? null : `The target of a ${kind} monitor is ${rule.form}.`
}

/** Does an agent check monitors of this kind by a target, with settings? */
export function takesSettings(kind: MonitorKind): boolean {
  return RULES[kind] !== null
}
