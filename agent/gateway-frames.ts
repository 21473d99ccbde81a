import {
  type AgentMonitor,
  agentMonitorSchema,
  type GatewayFrame,
  gatewayFrameSchema
} from '../shared/protocol/frames.ts'

export type FrameReading =
  | { readonly kind: 'frame'; readonly frame: GatewayFrame; readonly strangeMonitors: number }
  /** A type that this agent does not know; a newer gateway may send it. */
  | { readonly kind: 'unknown'; readonly type: string }
  | { readonly kind: 'malformed'; readonly detail: string }

const KNOWN = new Set(['welcome', 'ack', 'reject', 'monitors', 'drain', 'bye'])

/** One monitor of a kind from the future must not cost the agent all the others. */
function understandable(monitors: readonly unknown[]): AgentMonitor[] {
  return monitors.flatMap((monitor) => agentMonitorSchema.safeParse(monitor).data ?? [])
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    // Not JSON: the caller reports it as malformed.
    return null
  }
}

/** Reads a text frame of the gateway; unknown fields are dropped, unknown types and monitors are told apart from faults. */
export function readGatewayFrame(text: string): FrameReading {
  const value = parseObject(text)
  if (value === null || typeof value.type !== 'string')
    return { kind: 'malformed', detail: 'not an object with a type' }
  if (!KNOWN.has(value.type)) return { kind: 'unknown', type: value.type }
  let strangeMonitors = 0
  if (Array.isArray(value.monitors)) {
    const monitors = understandable(value.monitors)
    strangeMonitors = value.monitors.length - monitors.length
    value.monitors = monitors
  }
  const result = gatewayFrameSchema.safeParse(value)
  if (result.success) return { kind: 'frame', frame: result.data, strangeMonitors }
  const issue = result.error.issues[0]
  return { kind: 'malformed', detail: `${value.type}.${issue?.path.join('.')}: ${issue?.message}` }
}
