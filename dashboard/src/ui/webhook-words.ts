import type { Answer } from '../api.ts'

export type Channel = Answer<'GET /v1/alerts/channels'>['data'][number]
export type ChannelEvent = Channel['events'][number]
export type Delivery = Answer<'GET /v1/alerts/channels/{id}/deliveries'>['data'][number]

export const EVENTS = [
  { value: 'down', label: 'Outages', description: 'A monitor is down, and it is over.' },
  {
    value: 'agent',
    label: 'Agents',
    description: 'An agent is lost, and it is back. One message for all its monitors.'
  },
  {
    value: 'pending',
    label: 'Never heard of',
    description: 'A monitor still waits for its first heartbeat after three days. Told once.'
  },
  { value: 'degraded', label: 'Degraded', description: 'A monitor is degraded, and it is up again.' },
  { value: 'unknown', label: 'Unknown', description: 'Nothing is known of a monitor, and no agent is the cause.' }
] as const satisfies ReadonlyArray<{ value: ChannelEvent; label: string; description: string }>

export function eventsInWords(events: readonly ChannelEvent[]): string {
  return EVENTS.filter(({ value }) => events.includes(value))
    .map(({ label }) => label)
    .join(', ')
}

interface Message {
  monitor?: { name: string }
  transition?: { from: string; to: string }
  agent?: { name: string }
  presence?: string
}

/** What a message tells: "Shop: up → down". */
export function messageInWords({ type, body }: Pick<Delivery, 'type' | 'body'>): string {
  if (type === 'channel.test') return 'Test call'
  // The worker made it from these very fields.
  const { monitor, transition, agent, presence } = JSON.parse(body) as Message
  if (monitor !== undefined && transition !== undefined) return `${monitor.name}: ${transition.from} → ${transition.to}`
  if (monitor !== undefined) return `${monitor.name}: still waiting for its first heartbeat`
  return agent === undefined ? type : `Agent ${agent.name}: ${presence}`
}

/** How a try went, in a sentence. */
export function outcomeInWords({ status, statusCode, error }: Delivery): string {
  if (error !== null && status !== 'delivered') return error
  return statusCode === null ? 'Not tried yet.' : `Answered ${statusCode}.`
}
